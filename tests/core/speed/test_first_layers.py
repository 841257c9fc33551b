"""The outputs of a first layer stand in for its weights only where that is exact."""

from collections.abc import Iterator
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from tests.core.speed.test_tricks import NoTricks, loss
from torch import Tensor, nn
from torch.optim import SGD, Adam
from torch.utils.checkpoint import checkpoint

from reweigh.core import learner
from reweigh.core.jvp import engine
from reweigh.core.learner import MetaLearner
from reweigh.core.objective import mean_loss, reweighted
from reweigh.weighting import ClassAwareNet, LearnedWeights

TRAINING, TRUSTED = 8, 5  # rows


class Net(nn.Module):
    """A first layer, which ``kind`` uses in one way or another."""

    def __init__(self, kind: str):
        super().__init__()
        self.kind = kind
        self.first = nn.Linear(30, 20, bias=kind != "without a bias")
        self.norm = nn.BatchNorm1d(20)
        self.last = nn.Linear(20, 4)

    def forward(self, x: Tensor) -> Tensor:
        kind = self.kind
        if kind == "checkpointed":
            return checkpoint(self.above, self.first, x, use_reentrant=False)
        if kind == "twice in training" and len(x) == TRAINING:
            return self.above(self.first, x) + self.above(self.first, 2 * x)
        if kind == "twice in both":
            return self.above(self.first, x) + self.above(self.first, 2 * x)
        outputs = self.above(self.first, x)
        size = TRAINING if kind == "weight of training" else TRUSTED if kind == "weight of trusted" else 0
        outputs = outputs + self.first.weight.square().mean(1)[:4] if len(x) == size else outputs
        return outputs + self.first.bias[:4] if kind == "bias of both" else outputs

    def above(self, first: nn.Linear, x: Tensor) -> Tensor:
        hidden = F.softplus(x) if self.kind == "after an operation" else x
        hidden = first(hidden)
        if self.kind == "changed in place" or (self.kind == "changed in place elsewhere" and len(x) == TRUSTED):
            hidden.sigmoid_()
        return self.last(self.norm(F.softplus(hidden)))


@pytest.fixture(autouse=True)
def in_double_precision() -> Iterator[None]:
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def _after_two_steps(kind: str, lookahead: Any, name: str, optimizer: type[SGD | Adam]) -> tuple[Any, set[str]]:
    """What was learned, and the names of what the engine moved."""
    torch.manual_seed(0)
    model, net, moved = Net(kind), ClassAwareNet(3, 4), set[str]()
    by = engine(name)

    def watched(f: Any, at: Any, along: Any) -> Tensor:
        moved.update(along)
        return by(f, at, along)

    weigher = LearnedWeights(net, SGD(net.parameters(), 1.0))
    made = MetaLearner(model, optimizer(model.parameters(), 0.1), weigher, watched, lookahead=lookahead)
    labels = torch.randint(4, (TRAINING,))
    objective = reweighted(loss, torch.randn(TRAINING, 30), labels)
    meta = mean_loss(loss, torch.randn(TRUSTED, 30), torch.randint(4, (TRUSTED,)))
    for _ in range(2):
        made.step(objective, labels % 3, meta)
    made.learn(objective, labels % 3, meta)
    assert "forward" not in model.first.__dict__
    return (model.state_dict(), [p.grad for p in net.parameters() if p.grad is not None]), moved


USED = ["plain", "without a bias", "after an operation", "changed in place elsewhere"]
UNUSED = ["changed in place", "checkpointed", "twice in training", "twice in both", "bias of both"]
UNUSED += ["weight of training", "weight of trusted"]


@pytest.mark.parametrize("name", ["forward", "difference", "unrolled"])
@pytest.mark.parametrize("lookahead", ["virtual", "real"])
@pytest.mark.parametrize("kind", [*USED, *UNUSED])
def test_the_same_as_without(kind: str, lookahead: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    quick, moved = _after_two_steps(kind, lookahead, name, SGD)
    assert ("output of first.weight" in moved) == (kind in USED)
    assert ("first.weight" in moved) == (kind in UNUSED)
    monkeypatch.setattr(learner, "Tricks", NoTricks)
    plain, _ = _after_two_steps(kind, lookahead, name, SGD)
    precision = 1e-6 if name == "difference" else 1e-12
    torch.testing.assert_close(quick, plain, rtol=precision, atol=precision)
    assert max(float(gradient.abs().max()) for gradient in quick[1]) > 1e-4


def test_not_where_the_step_is_not_linear_in_the_gradient() -> None:
    _, moved = _after_two_steps("plain", "virtual", "forward", Adam)
    assert "first.weight" in moved
