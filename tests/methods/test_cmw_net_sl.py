"""CMW-Net-SL: pseudo-labels from the averaged model, on the unmixed view."""

from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from reweigh.data import Dataset
from reweigh.errors import DataError
from reweigh.meta_sets import META_SETS
from reweigh.methods import METHODS, build, options_of_method
from reweigh.methods.cmw_net_sl import CMWNetSL
from reweigh.methods.parts.onset import Onset
from reweigh.methods.setup import Setup


def loss(outputs: Tensor, labels: Tensor) -> Tensor:
    return F.cross_entropy(outputs, labels, reduction="none")


def _setup() -> Setup:
    torch.manual_seed(0)
    truth = torch.arange(240) % 3
    given = torch.where(torch.arange(240) % 5 == 0, (truth + 1) % 3, truth)  # every fifth label is wrong
    inputs = torch.randn(240, 4) + 4 * F.one_hot(truth, 4)
    data = Dataset(inputs, given, ("a", "b", "c"), true_labels=truth)
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 3))
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    generator = torch.Generator().manual_seed(0)
    trusted = META_SETS["lowest-loss"](per_class=10)
    return Setup(model, optimizer, data, trusted, loss, None, generator, torch.device("cpu"))


@pytest.mark.parametrize("mixup", [0.0, 1.0])
def test_pseudo_labels_find_the_truth(mixup: float) -> None:
    setup = _setup()
    method = build("cmw-net-sl", setup, mixup=mixup, average=0.9, ensembling=0.5, every=1, onset="at-once")
    assert isinstance(method, CMWNetSL)
    assert torch.equal(method.pseudo_labels(), setup.train_set.labels)  # where they start
    for epoch in range(20):
        method.start_epoch(epoch, warm_up=epoch == 0)
        for index in torch.randperm(240).split(40):
            method.step(setup.train_set.batch(index))
    right = (method.pseudo_labels() == setup.train_set.true_labels).float().mean()
    assert float(right) > 0.94
    weights = method.sample_weights()
    assert weights is not None
    assert not weights.isnan().any()


def test_predictions_are_those_of_the_average_on_the_unmixed_view() -> None:
    setup = _setup()
    method = build("cmw-net-sl", setup, ensembling=0.0, onset="at-once")
    assert isinstance(method, CMWNetSL)
    method.start_epoch(0, warm_up=True)
    batch = setup.train_set.batch(torch.arange(40))
    for _ in range(5):
        method.step(batch)
    method.start_epoch(1, warm_up=False)
    assert method._average is not None
    expected = method._average.model.eval()(batch.inputs).softmax(1)
    method.step(batch)
    torch.testing.assert_close(method._predictions.state_dict()["rows"][:40], expected)


def test_the_average_is_what_is_evaluated_and_saved() -> None:
    setup = _setup()
    method = build("cmw-net-sl", setup)
    assert isinstance(method, CMWNetSL)
    method.start_epoch(0, warm_up=True)
    method.step(setup.train_set.batch(torch.arange(40)))
    assert method.model is method._average.model


def test_its_options_are_those_of_cmw_net_and_more() -> None:
    options, fewer = (set(options_of_method(METHODS[name])) for name in ("cmw-net-sl", "cmw-net"))
    assert options == {"average", "ensembling", "mixup", "onset", "average_mode", *fewer} - {"convergence"}


def test_integers_cannot_be_mixed() -> None:
    setup = _setup()
    tokens = Dataset(torch.randint(9, (240, 4)), setup.train_set.labels, ("a", "b", "c"))
    model = nn.Sequential(nn.Embedding(9, 4), nn.Flatten(), nn.Linear(16, 3))
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    setup = replace(setup, train_set=tokens, model=model, optimizer=optimizer)
    method = build("cmw-net-sl", setup)
    batch = replace(tokens.batch(torch.arange(8)), inputs=tokens.inputs[torch.arange(8)])
    assert isinstance(method, CMWNetSL)
    with pytest.raises(DataError, match=r"mixup cannot mix inputs of torch.int64; set method.mixup = 0"):
        method._train_on(batch, (None, None))


def test_by_default_the_average_is_over_an_epoch() -> None:
    setup = _setup()
    method = build("cmw-net-sl", setup)
    assert isinstance(method, CMWNetSL)
    method.start_epoch(0, warm_up=True)
    for index in torch.arange(240).split(32):  # the last one is smaller
        method.step(setup.train_set.batch(index))
        assert method._average.decay == 1 - 32 / 240


def test_soft_labels_begin_when_the_onset_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def decides(self: Onset, model: nn.Module, warm_up: bool) -> bool:
        asked.append((model is method.model, warm_up))
        self.open = len(asked) < 3
        return not self.open

    monkeypatch.setattr(Onset, "decides", decides)
    method = build("cmw-net-sl", _setup())
    assert isinstance(method, CMWNetSL)
    begun = []
    for epoch in range(5):
        method.start_epoch(epoch, warm_up=epoch < 2)
        begun.append(method._soft)
    assert begun == [False, False, False, True, True]
    assert asked == [(True, True), (True, False), (True, False)]  # not before anything was trained, nor afterward


def test_soft_labels_at_once_begin_after_the_warm_up() -> None:
    method = build("cmw-net-sl", _setup(), onset="at-once")
    assert isinstance(method, CMWNetSL)
    for epoch, warm_up in enumerate((True, True, False)):
        method.start_epoch(epoch, warm_up)
        assert method._soft == (not warm_up)


def test_until_then_it_is_cmw_net_on_what_is_not_held_out() -> None:
    models = []
    for name in ("cmw-net-sl", "cmw-net"):
        setup = _setup()
        method = build(name, setup)
        if isinstance(method, CMWNetSL):
            assert method._onset is not None
            held_out = method._onset._held_out
            assert held_out.sum() == 24
        method.start_epoch(0, warm_up=True)
        for index in torch.arange(240).split(40):
            batch = setup.train_set.batch(index)
            method.step(batch if name == "cmw-net-sl" else batch.where(~held_out[index]))
        models.append(setup.model)
    for ours, theirs in zip(models[0].parameters(), models[1].parameters(), strict=True):
        assert torch.equal(ours, theirs)


def test_ensembling_starts_from_the_predictions_of_what_was_trained() -> None:
    setup = _setup()
    method = build("cmw-net-sl", setup, onset="at-once", ensembling=0.9)
    assert isinstance(method, CMWNetSL)
    method.start_epoch(0, warm_up=True)
    for index in torch.arange(240).split(40):
        method.step(setup.train_set.batch(index))
    assert torch.equal(method.pseudo_labels(), setup.train_set.labels)
    method.start_epoch(1, warm_up=False)
    with torch.no_grad():
        expected = method._average.model.eval()(setup.train_set.inputs).softmax(1)
    torch.testing.assert_close(method._predictions.state_dict()["rows"], expected)


def test_the_average_may_predict_with_the_statistics_of_the_batch() -> None:
    setup = _setup()
    method = build("cmw-net-sl", setup, average_mode="train")
    assert isinstance(method, CMWNetSL)
    inputs = setup.train_set.batch(torch.arange(40)).inputs
    before = {name: value.clone() for name, value in method._average.model.state_dict().items()}
    found = method._predicted(inputs)
    linear, _, relu, last = method._average.model
    hidden = linear(inputs)
    scaled = (hidden - hidden.mean(0)) / (hidden.var(0, unbiased=False) + 1e-5).sqrt()
    torch.testing.assert_close(found, last(relu(scaled)).softmax(1))
    assert all(torch.equal(value, before[name]) for name, value in method._average.model.state_dict().items())
