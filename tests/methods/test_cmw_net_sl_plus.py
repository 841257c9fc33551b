"""CMW-Net-SL+: the consistency term is what the docstring says, and without it the method is CMW-Net-SL."""

from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from reweigh.core.objective import Batch, Terms
from reweigh.data import Dataset
from reweigh.errors import DataError
from reweigh.meta_sets import META_SETS
from reweigh.methods import METHODS, build, options_of_method
from reweigh.methods.cmw_net_sl import CMWNetSLPlus
from reweigh.methods.setup import Setup

pytest.importorskip("kornia")


def loss(outputs: Tensor, labels: Tensor) -> Tensor:
    return F.cross_entropy(outputs, labels, reduction="none")


def _setup() -> Setup:
    torch.manual_seed(0)
    labels = torch.arange(60) % 3
    images = torch.randint(0, 255, (60, 1, 8, 8), dtype=torch.uint8)
    model = nn.Sequential(nn.Flatten(), nn.Linear(64, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 3))
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    generator = torch.Generator().manual_seed(0)
    trusted = META_SETS["lowest-loss"](per_class=4)
    data = Dataset(images, labels, ("a", "b", "c"))
    return Setup(model, optimizer, data, trusted, loss, None, generator, torch.device("cpu"))


def _made(setup: Setup, **options: object) -> CMWNetSLPlus:
    method = build("cmw-net-sl+", setup, **options)
    assert isinstance(method, CMWNetSLPlus)
    return method


def _terms_of(batch: Batch, pseudo: Tensor, setup: Setup, **options: object) -> Terms:
    """What the method makes of an objective without terms of its own."""
    nothing = torch.zeros(len(batch))
    method = _made(setup, **options)
    setup.generator.manual_seed(1)
    terms = Terms(nothing, nothing, torch.tensor(0.25), 20)
    return method._completed(lambda forward: terms, batch, pseudo)(setup.model)


@pytest.mark.parametrize("weights", [None, torch.arange(20.0)])
def test_the_term_is_the_mean_loss_of_strong_views_with_the_pseudo_labels(weights: Tensor | None) -> None:
    setup = _setup()
    setup.model.eval()
    index = torch.arange(0, 60, 3)
    batch = replace(setup.train_set.batch(index), weights=weights)
    pseudo = torch.randn(20, 3).softmax(1)
    found = _terms_of(batch, pseudo, setup, consistency=0.5)
    strong = _made(setup)._strong
    setup.generator.manual_seed(1)
    assert strong is not None
    views = strong(index)
    assert not torch.equal(views, batch.inputs)
    expected = 0.0
    for i in range(20):
        counts = 1.0 if weights is None else float(weights[i])
        expected -= counts * float((pseudo[i] * setup.model(views[i : i + 1])[0].log_softmax(0)).sum().detach()) / 20
    torch.testing.assert_close(found.rest, torch.tensor(0.25 + 0.5 * expected))
    assert found.coefficients.abs().sum() == 0


def _trained(name: str, **options: object) -> list[Tensor]:
    setup = _setup()
    method = build(name, setup, **options)
    for epoch in range(2):
        method.start_epoch(epoch, warm_up=epoch == 0)
        for index in torch.arange(60).split(20):
            method.step(setup.train_set.batch(index))
    return [param.detach().clone() for param in setup.model.parameters()]


@pytest.mark.parametrize("mixup", [0.0, 1.0])
def test_without_the_term_it_is_cmw_net_sl(mixup: float) -> None:
    at_once = {"mixup": mixup, "settled": 0.0}
    plain = _trained("cmw-net-sl", **at_once)
    for ours, theirs in zip(_trained("cmw-net-sl+", consistency=0.0, **at_once), plain, strict=True):
        assert torch.equal(ours, theirs)
    assert not torch.equal(_trained("cmw-net-sl+", consistency=1e-3, **at_once)[0], plain[0])


def test_warm_up_is_plain_training() -> None:
    first, second = _setup(), _setup()
    for name, setup in (("erm", first), ("cmw-net-sl+", second)):
        method = build(name, setup)
        method.start_epoch(0, warm_up=True)
        method.step(setup.train_set.batch(torch.arange(20)))
    for ours, theirs in zip(first.model.parameters(), second.model.parameters(), strict=True):
        assert torch.equal(ours, theirs)


def test_its_options_are_those_of_cmw_net_sl_and_more() -> None:
    options, fewer = (set(options_of_method(METHODS[name])) for name in ("cmw-net-sl+", "cmw-net-sl"))
    assert options == {"consistency", "magnitude", *fewer}


def test_a_table_cannot_be_distorted_but_has_a_remedy() -> None:
    setup = _setup()
    table = Dataset(torch.randn(60, 64), setup.train_set.labels, ("a", "b", "c"))
    with pytest.raises(DataError, match=r"shape \(64,\); use method 'cmw-net-sl', or set method.consistency = 0"):
        build("cmw-net-sl+", replace(setup, train_set=table))
    build("cmw-net-sl+", replace(setup, train_set=table), consistency=0.0)
