"""PRODEN with CMW-Net: the first stage is PRODEN, the second CMW-Net on the labels that were identified."""

import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from reweigh.bias.candidates import independent
from reweigh.core.objective import reweighted
from reweigh.data import Dataset, with_candidates
from reweigh.errors import ReweighError
from reweigh.families import by_size
from reweigh.losses import LOSSES
from reweigh.meta_sets import META_SETS
from reweigh.methods import build
from reweigh.methods.proden import PRODENCMWNet, belief
from reweigh.methods.setup import Setup
from reweigh.training.checkpoint import load, save


def _setup() -> Setup:
    generator = torch.Generator().manual_seed(0)
    labels = torch.tensor([0] * 30 + [1] * 20 + [2] * 10)
    inputs = torch.randn(60, 4, generator=generator) + 2 * torch.eye(4)[labels]
    data = Dataset(inputs, labels, ("a", "b", "c"), normalize=torch.Tensor.double)
    data = with_candidates(data, independent(labels, 3, 0, q=0.5))
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 3)).double()
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    trusted = META_SETS["lowest-loss"](per_class=4)
    generator = torch.Generator().manual_seed(0)
    return Setup(model, optimizer, data, trusted, LOSSES["cross-entropy"], None, generator, torch.device("cpu"))


def _made(setup: Setup, **options: Any) -> PRODENCMWNet:
    method = build("proden+cmw-net", setup, **options)
    assert isinstance(method, PRODENCMWNet)
    return method


def _epoch(method: Any, setup: Setup, epoch: int, warm_up: bool = False) -> list[dict[str, float]]:
    method.start_epoch(epoch, warm_up)
    return [method.step(setup.train_set.batch(index)) for index in torch.arange(60).split(20)]


def test_the_first_stage_is_proden():
    setups = _setup(), _setup()
    both = build("proden+cmw-net", setups[0], identify_epochs=3), build("proden", setups[1])
    for epoch in range(3):
        assert _epoch(both[0], setups[0], epoch) == _epoch(both[1], setups[1], epoch)
    assert both[0].weight_net() is None
    assert both[0].sample_weights() is None
    assert both[0].families() is None


@pytest.mark.parametrize("network", ["trained", "fresh"])
def test_the_second_stage_is_cmw_net_on_the_identified_labels(network: Any):
    setup = _setup()
    start = copy.deepcopy(setup.model.state_dict())
    method = _made(setup, identify_epochs=3, network=network, every=2)
    for epoch in range(3):
        _epoch(method, setup, epoch)
    setup.model.eval()
    logits = setup.model(setup.train_set.inputs.double())  # pyright: ignore[reportAttributeAccessIssue]
    assert setup.train_set.candidates is not None
    candidates = setup.train_set.candidates[:]
    labels = belief(logits, candidates).argmax(1)
    assert bool(candidates[torch.arange(60), labels].all())

    other = _setup()
    other = replace(other, train_set=other.train_set.with_labels(labels))
    other.model.load_state_dict(setup.model.state_dict())
    for current in (setup, other):
        current.generator.manual_seed(5)
    torch.manual_seed(1)
    method.start_epoch(3, warm_up=False)
    torch.manual_seed(1)
    plain = build("cmw-net", other, every=2)
    plain.start_epoch(3, warm_up=False)
    if network == "fresh":
        other.model.load_state_dict(start)
    for epoch in (3, 4):
        if epoch == 4:
            method.start_epoch(epoch, warm_up=False)
            plain.start_epoch(epoch, warm_up=False)
        for index in torch.arange(60).split(20):
            assert method.step(setup.train_set.batch(index)) == plain.step(other.train_set.batch(index))
    weights, expected = method.sample_weights(), plain.sample_weights()
    assert weights is not None
    assert expected is not None
    assert torch.equal(weights, expected)
    assert method.weight_net() is not None


@pytest.mark.parametrize("saved_after", [0, 1, 2])
def test_resumes_in_either_stage(saved_after: int, tmp_path: Path):
    setup = _setup()
    method = _made(setup, identify_epochs=2, network="fresh", every=1)
    generators = torch.get_rng_state(), setup.generator.get_state()
    for epoch in range(4):
        _epoch(method, setup, epoch)
        if epoch == saved_after:
            save(tmp_path / "state", copy.deepcopy(method.state_dict()))
            generators = torch.get_rng_state(), setup.generator.get_state()
    elsewhere = _setup()
    other = _made(elsewhere, identify_epochs=2, network="fresh", every=1)
    other.load_state_dict(load(tmp_path / "state"))
    torch.set_rng_state(generators[0])
    elsewhere.generator.set_state(generators[1])
    for epoch in range(saved_after + 1, 4):
        _epoch(other, elsewhere, epoch)
    for ours, theirs in zip(setup.model.parameters(), elsewhere.model.parameters(), strict=True):
        assert torch.equal(ours, theirs)
    weights, expected = other.sample_weights(), method.sample_weights()
    assert weights is not None
    assert expected is not None
    assert torch.equal(weights, expected)


@pytest.mark.parametrize("options", [{"engine": "nonsense"}, {"scope": "nope.*"}, {"weighting": "/nowhere"}])
def test_wrong_options_are_reported_before_the_first_stage(options):
    with pytest.raises(ReweighError):
        _made(_setup(), identify_epochs=3, **options)


def test_the_warm_up_belongs_to_the_first_stage():
    setup = _setup()
    method = _made(setup, identify_epochs=1)
    for epoch in range(3):
        _epoch(method, setup, epoch, warm_up=True)
        assert method.weight_net() is None
    _epoch(method, setup, 3)
    assert method.weight_net() is not None


def test_the_meta_gradient_is_that_of_the_unrolled_step():
    """What the weight net receives in the second stage, against a look-ahead with a graph through it."""
    gradients = {}
    for engine in ("forward", "unrolled"):
        setup = _setup()
        method = _made(setup, identify_epochs=1, every=1, engine=engine)
        _epoch(method, setup, 0)
        torch.manual_seed(3)
        method.start_epoch(1, warm_up=False)
        assert method._second is not None
        learner = method._second._reweighter._learner
        batch = setup.train_set.batch(torch.arange(20))
        labels = method._labels[:20]
        trusted = method._second._trusted.next(20)
        found = []
        inner = learner.engine

        def watched(*problem: Any, inner: Any = inner, found: list = found) -> Any:
            found.append(inner(*problem))
            return found[-1]

        learner.engine = watched
        objective = reweighted(setup.loss, batch.inputs, labels)
        method._second._reweighter.step_on(objective, labels, *trusted)
        gradients[engine] = found[0]
    assert float(gradients["unrolled"].abs().max()) > 0
    torch.testing.assert_close(gradients["forward"], gradients["unrolled"])


def test_families_are_those_of_the_identified_labels():
    setup = _setup()
    method = _made(setup.reweighting(families=3), identify_epochs=1)
    _epoch(method, setup, 0)
    method.start_epoch(1, warm_up=False)
    families = method.families()
    assert families is not None
    identified = torch.bincount(method._labels, minlength=3)
    assert identified.tolist() != setup.train_set.class_sizes.tolist()
    expected = by_size(identified, 3)
    assert torch.equal(families.of_class, expected.of_class)
    assert torch.equal(families.centers, expected.centers)
