"""SelectiveNet with learned weights: the meta-gradient against double backward and against real steps, in fp64."""

import copy

import pytest
import torch
from torch import Tensor, nn

from reweigh.core.jvp import ENGINES
from reweigh.data import Dataset
from reweigh.losses import LOSSES
from reweigh.meta_sets import META_SETS
from reweigh.methods import METHODS, build, options_of_method
from reweigh.methods.cmw_net import OnTop
from reweigh.methods.setup import Setup

LOSS = LOSSES["cross-entropy"]


def _setup() -> Setup:
    torch.manual_seed(0)
    labels = torch.tensor([0] * 30 + [1] * 12 + [2] * 6)
    inputs = torch.randn(48, 4) + torch.eye(4)[labels]
    model = nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.Tanh(), nn.Dropout(0.1), nn.Linear(6, 3)).double()
    data = Dataset(inputs, labels, ("a", "b", "c"), normalize=Tensor.double)
    trusted = META_SETS["balanced-random"](per_class=5)
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9, weight_decay=0.01)
    return Setup(model, optimizer, data, trusted, LOSS, None, torch.Generator().manual_seed(0), torch.device("cpu"))


def _made(**options) -> OnTop:
    method = build("selectivenet+cmw-net", _setup(), every=1, **options)
    assert isinstance(method, OnTop)
    return method


@pytest.mark.parametrize("normalize", ["mean", "weight-sum"])
def test_the_meta_gradient_is_that_of_a_double_backward(normalize: str) -> None:
    method = _made(normalize=normalize, coverage=0.9)
    found: list[tuple[Tensor, Tensor]] = []

    def both(*problem) -> Tensor:
        pair = ENGINES["forward"](*problem), ENGINES["unrolled"](*problem)
        found.append(pair)
        return pair[0]

    method._reweighter._learner.engine = both
    method.start_epoch(0, warm_up=False)
    for index in torch.arange(48).split(16):
        method.step(method.setup.train_set.batch(index))
    assert len(found) >= 3  # the first step also checks the engine
    for forward, unrolled in found:
        assert float(forward.abs().max()) > 1e-6
        torch.testing.assert_close(forward, unrolled, rtol=1e-7, atol=1e-12)


def test_the_meta_gradient_is_that_of_real_steps() -> None:
    """Change the weight of one sample, take the step of the real optimizer, and see the risk on trusted samples."""
    method = _made(coverage=0.9, alpha=0.4)
    method.model.train()
    for module in method.model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
    batch, trusted = (method.setup.train_set.batch(index) for index in (torch.arange(0, 48, 4), torch.arange(1, 48, 3)))
    weights = torch.linspace(0.2, 1.0, 12).double()
    seen: list[Tensor] = []

    def recorded(weights: Tensor, gradient: Tensor, reduce: object) -> Tensor:
        seen.append(gradient)
        return torch.zeros(())

    start = copy.deepcopy(method)
    method._reweighter.normalize("mean")
    learner = method._reweighter._learner
    learner.engine = ENGINES["forward"]
    learner.weigher.learn = recorded
    learner.weigher.propose = lambda losses, family: weights.clone().requires_grad_()
    learner.learn(
        method._beneath.objective(batch),
        torch.zeros(12, dtype=torch.int64),
        method._beneath.trusted_objective(trusted.inputs, trusted.labels),
    )

    def risk_after(weights: Tensor) -> float:
        ours = copy.deepcopy(start)
        heads = ours.model(batch.inputs, heads=True)
        total = 0.6 * (weights * LOSS(heads.auxiliary, batch.labels)).mean()
        total = total + 0.4 * ours._beneath._risk(heads, batch.labels)
        ours.setup.optimizer.zero_grad()
        total.backward()
        ours.setup.optimizer.step()
        return ours._beneath._risk(ours.model(trusted.inputs, heads=True), trusted.labels).item()

    for place in (0, 5, 11):
        bump = torch.zeros(12).double()
        bump[place] = 1e-5
        slope = (risk_after(weights + bump) - risk_after(weights - bump)) / 2e-5
        assert float(seen[0][place]) / 12 == pytest.approx(slope, rel=1e-5)


def test_the_weights_are_those_of_the_auxiliary_loss() -> None:
    method = _made(alpha=0.25)
    batch = method.setup.train_set.batch(torch.arange(20))
    method.model.eval()
    heads = method.model(batch.inputs, heads=True)
    terms = method._beneath.objective(batch)(method.model)
    torch.testing.assert_close(terms.coefficients, 0.75 * LOSS(heads.auxiliary, batch.labels))
    torch.testing.assert_close(terms.losses, LOSS(heads.auxiliary, batch.labels))
    torch.testing.assert_close(terms.rest, 0.25 * method._beneath._risk(heads, batch.labels))


def test_it_learns_weights_and_tells_them() -> None:
    method = _made(meta_lr=0.05)
    before = copy.deepcopy(method.weight_net().state_dict())
    for epoch in range(3):
        method.start_epoch(epoch, warm_up=False)
        numbers = method.step(method.setup.train_set.batch(torch.arange(48)))
    assert {"loss", "weight", "meta_loss", "gradient_norm", "meta_gradient_norm"} <= numbers.keys()
    assert numbers["meta_gradient_norm"] > 0
    assert any(not torch.equal(value, before[name]) for name, value in method.weight_net().state_dict().items())
    weights = method.sample_weights()
    assert weights is not None
    assert not weights.isnan().any()


def test_its_options_are_those_of_both() -> None:
    options = {
        name: set(options_of_method(METHODS[name])) for name in ("selectivenet", "cmw-net", "selectivenet+cmw-net")
    }
    assert options["selectivenet+cmw-net"] == options["selectivenet"] | options["cmw-net"]
