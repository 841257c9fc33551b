"""CMW-Net-SL: pseudo-labels from the averaged model, on the unmixed view."""

import inspect
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from reweigh.data import Dataset
from reweigh.errors import DataError
from reweigh.meta_sets import META_SETS
from reweigh.methods import METHODS
from reweigh.methods.cmw_net_sl import CMWNetSL
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
    method = METHODS["cmw-net-sl"](setup, mixup=mixup, average=0.9, ensembling=0.5, every=1)
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
    method = METHODS["cmw-net-sl"](setup, ensembling=0.0)
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


def test_the_average_is_judged_unless_asked_otherwise() -> None:
    setup = _setup()
    for judged, own in (("average", False), ("model", True)):
        method = METHODS["cmw-net-sl"](setup, judged=judged)
        method.start_epoch(0, warm_up=True)
        method.step(setup.train_set.batch(torch.arange(40)))
        assert (method.model is setup.model) == own


def test_its_options_are_those_of_cmw_net_and_more() -> None:
    options = set(inspect.signature(METHODS["cmw-net-sl"]).parameters)
    assert options - set(inspect.signature(METHODS["cmw-net"]).parameters) == {
        "average",
        "ensembling",
        "mixup",
        "judged",
    }
    assert set(inspect.signature(METHODS["cmw-net"]).parameters) < options


def test_integers_cannot_be_mixed() -> None:
    setup = _setup()
    tokens = Dataset(torch.randint(9, (240, 4)), setup.train_set.labels, ("a", "b", "c"))
    model = nn.Sequential(nn.Embedding(9, 4), nn.Flatten(), nn.Linear(16, 3))
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    setup = replace(setup, train_set=tokens, model=model, optimizer=optimizer)
    method = METHODS["cmw-net-sl"](setup)
    batch = replace(tokens.batch(torch.arange(8)), inputs=tokens.inputs[torch.arange(8)])
    assert isinstance(method, CMWNetSL)
    with pytest.raises(DataError, match=r"mixup cannot mix inputs of torch.int64; set method.mixup = 0"):
        method._train_on(batch, (None, None))
