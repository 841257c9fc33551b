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
from reweigh.methods.setup import Setup
from reweigh.pseudo_labels import DensePredictions


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
    method = build("cmw-net-sl", setup, mixup=mixup, average=0.9, ensembling=0.5, every=1, settled=0.0)
    assert isinstance(method, CMWNetSL)
    assert torch.equal(method._predictions.labels(), setup.train_set.labels)  # where they start
    for epoch in range(20):
        method.start_epoch(epoch, warm_up=epoch == 0)
        for index in torch.randperm(240).split(40):
            method.step(setup.train_set.batch(index))
    right = (method._predictions.labels() == setup.train_set.true_labels).float().mean()
    assert float(right) > 0.94
    weights = method.sample_weights()
    assert weights is not None
    assert not weights.isnan().any()


def test_predictions_are_those_of_the_average_on_the_unmixed_view() -> None:
    setup = _setup()
    method = build("cmw-net-sl", setup, ensembling=0.0, settled=0.0)
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
    own = {"average", "ensembling", "mixup", "settled", "average_mode", "average_until"}
    assert options == own | fewer - {"convergence"}


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


@pytest.mark.parametrize("average", [None, 0.9])
def test_the_average_stays_as_it_is_after_a_share_of_the_epochs(average: float | None) -> None:
    setup = replace(_setup(), epochs=4)
    method = build("cmw-net-sl", setup, average=average, average_until=0.5)
    batch, seen = setup.train_set.batch(torch.arange(40)), []
    for epoch in range(4):
        method.start_epoch(epoch, warm_up=True)
        method.step(batch)
        seen.append(torch.cat([parameter.flatten() for parameter in method.model.parameters()]))
    assert not torch.equal(seen[0], seen[1])
    assert torch.equal(seen[1], seen[2])
    assert torch.equal(seen[1], seen[3])


def test_soft_labels_begin_when_the_average_has_settled(monkeypatch: pytest.MonkeyPatch) -> None:
    setup = _setup()
    classes = torch.zeros(240, dtype=torch.int64)
    monkeypatch.setattr(DensePredictions, "labels", lambda self: classes.clone())

    def begun(settled: float, moves: list[int], warm_up: int = 0) -> list[bool]:
        method = build("cmw-net-sl", setup, settled=settled)
        assert isinstance(method, CMWNetSL)
        found = []
        for epoch, moved in enumerate(moves):
            classes[:moved] += 1
            method.start_epoch(epoch, warm_up=epoch < warm_up)
            found.append(method._soft)
        return found

    assert begun(0.9, [0, 25, 25, 24, 200]) == [False, False, False, True, True]  # 24 of 240 is a tenth
    assert begun(0.9, [0, 0, 24], warm_up=2) == [False, False, True]
    assert begun(0.9, [0, 0, 25], warm_up=2) == [False, False, False]
    assert begun(0.0, [0, 200], warm_up=1) == [False, True]


def test_it_is_too_late_for_soft_labels_once_the_learning_rate_has_fallen() -> None:
    for rates, begins in (([0.1, 0.05], True), ([0.1, 0.049], False), ([0.01, 0.1], True), ([0.1, 0.04, 0.04], False)):
        setup = _setup()
        method = build("cmw-net-sl", setup, settled=0.5)
        assert isinstance(method, CMWNetSL)
        for epoch, rate in enumerate(rates):
            setup.optimizer.param_groups[0]["lr"] = rate
            method.start_epoch(epoch, warm_up=False)  # without a step between, every prediction stays
        assert method._soft == begins


def test_until_then_it_is_cmw_net() -> None:
    models = []
    for name, options in (("cmw-net-sl", {"settled": 1.0}), ("cmw-net", {})):
        setup = _setup()
        method = build(name, setup, **options)
        method.start_epoch(0, warm_up=False)
        for index in torch.arange(240).split(40):
            method.step(setup.train_set.batch(index))
        models.append(setup.model)
    for ours, theirs in zip(models[0].parameters(), models[1].parameters(), strict=True):
        assert torch.equal(ours, theirs)


def test_soft_labels_start_from_what_the_settled_average_predicts() -> None:
    setup = _setup()
    method = build("cmw-net-sl", setup, settled=0.01)
    assert isinstance(method, CMWNetSL)
    for epoch in range(2):
        method.start_epoch(epoch, warm_up=False)
        for index in torch.arange(240).split(40) if epoch == 0 else ():
            method.step(setup.train_set.batch(index))
    assert method._soft
    expected = method.model.eval()(setup.train_set.batch(torch.arange(240)).inputs).softmax(1)
    torch.testing.assert_close(method._predictions[torch.arange(240)], expected)


def test_ensembling_starts_from_the_predictions_of_what_was_trained() -> None:
    setup = _setup()
    method = build("cmw-net-sl", setup, settled=0.0, ensembling=0.9)
    assert isinstance(method, CMWNetSL)
    method.start_epoch(0, warm_up=True)
    for index in torch.arange(240).split(40):
        method.step(setup.train_set.batch(index))
    assert torch.equal(method._predictions.labels(), setup.train_set.labels)
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
