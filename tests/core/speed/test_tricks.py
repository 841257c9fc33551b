"""Without the tricks for speed a step gives the same result."""

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from reweigh.core import learner
from reweigh.core.jvp import ENGINES, engine
from reweigh.core.learner import MetaLearner
from reweigh.core.objective import mean_loss, soft_labels
from reweigh.weighting import ClassAwareNet, LearnedWeights


class NoTricks:
    """What would be left of ``Tricks``: every objective as it is."""

    def __init__(self, model: nn.Module, part: Any):
        pass

    def first(self, objective: Any, products: bool, before: Any = None) -> Any:
        return objective

    def again(self, objective: Any, params: Any) -> Any:
        return objective

    def elsewhere(self, objective: Any, leaves: Any) -> Any:
        return objective

    def gradient(self, loss: Tensor, leaves: Any) -> Any:
        grads = torch.autograd.grad(loss, list(leaves.values()), allow_unused=True, materialize_grads=True)
        return dict(zip(leaves, grads, strict=True))

    def shorten(self, at: Any, along: Any) -> Any:
        return at, along

    def forget(self) -> None:
        pass


class Net(nn.Module):
    def __init__(self, dropout: float):
        super().__init__()
        self.blocks = nn.Sequential(
            nn.Sequential(nn.Conv2d(3, 4, 2), nn.BatchNorm2d(4), nn.Softplus(), nn.Dropout(dropout)),
            nn.Sequential(nn.Conv2d(4, 5, 2), nn.BatchNorm2d(5), nn.Softplus(), nn.Dropout(dropout)),
        )
        self.head = nn.Linear(5, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.blocks(x).mean((2, 3)))


def loss(outputs: Tensor, labels: Tensor) -> Tensor:
    return F.cross_entropy(outputs, labels, reduction="none")


def _after_two_steps(lookahead: Any, scope: str, name: str, dropout: float) -> tuple[dict[str, Tensor], list[Tensor]]:
    torch.manual_seed(0)
    model, net = Net(dropout), ClassAwareNet(3, 4)
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    weigher = LearnedWeights(net, torch.optim.SGD(net.parameters(), 1.0))
    made = MetaLearner(model, optimizer, weigher, engine(name), lookahead=lookahead, scope=scope)
    labels, pseudo = torch.randint(4, (10,)), torch.rand(10, 4).softmax(1)
    objective = soft_labels(loss, torch.randn(10, 3, 4, 4), labels, pseudo)
    meta = mean_loss(loss, torch.randn(6, 3, 4, 4), torch.randint(4, (6,)))
    for _ in range(2):
        made.step(objective, labels % 3, meta)
    made.learn(objective, labels % 3, meta)
    return model.state_dict(), [p.grad for p in net.parameters() if p.grad is not None]


@pytest.mark.parametrize("dropout", [0.0, 0.3])
@pytest.mark.parametrize("scope", ["all", "last-block", "last-layer"])
@pytest.mark.parametrize("lookahead", ["virtual", "real"])
def test_without_tricks_the_same(lookahead: str, scope: str, dropout: float, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.set_default_dtype(torch.float64)
    try:
        for name in ENGINES:
            quick = _after_two_steps(lookahead, scope, name, dropout)
            with monkeypatch.context() as patch:
                patch.setattr(learner, "Tricks", NoTricks)
                plain = _after_two_steps(lookahead, scope, name, dropout)
            precision = 1e-6 if name == "difference" else 1e-12
            torch.testing.assert_close(quick, plain, rtol=precision, atol=precision)
            assert max(float(gradient.abs().max()) for gradient in quick[1]) > 1e-4
    finally:
        torch.set_default_dtype(torch.float32)
