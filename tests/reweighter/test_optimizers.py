"""Optimizers beyond SGD and Adam: they work, or a sentence says what does."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from reweigh import Reweighter
from reweigh.errors import RecipeError

TORCH = torch.Generator().manual_seed(0)
INPUTS = torch.randn(24, 5, generator=TORCH)
LABELS = torch.tensor([0] * 14 + [1] * 7 + [2] * 3)


class NoRate(torch.optim.Optimizer):
    """Steps of a fixed size."""

    def __init__(self, params: Any):
        super().__init__(params, {})

    def step(self, closure: Callable[[], float] | None = None) -> None:  # pyright: ignore
        for group in self.param_groups:
            for param in group["params"]:
                param.data -= 0.1 * param.grad


def _made(optimizer: Callable[..., Any]) -> tuple[nn.Module, Reweighter]:
    torch.manual_seed(0)
    model = nn.Linear(5, 3)
    return model, Reweighter(model, optimizer(model.parameters()), LABELS, every=1)


def test_a_step_of_lbfgs_is_refused_and_the_way_named_works() -> None:
    model, reweighter = _made(torch.optim.LBFGS)
    with pytest.raises(RecipeError, match=r"LBFGS computes the loss several times .* reweighter\.learn"):
        reweighter.step(INPUTS, LABELS, INPUTS, LABELS)
    optimizer = reweighter._learner.optimizer
    before = F.cross_entropy(model(INPUTS), LABELS).item()
    reweighter.learn((INPUTS, LABELS), (INPUTS, LABELS))

    def closure() -> Tensor:
        optimizer.zero_grad()
        losses = F.cross_entropy(model(INPUTS), LABELS, reduction="none")
        loss = (weights * losses).sum() / weights.sum()
        loss.backward()
        return loss

    weights = reweighter.weigh(F.cross_entropy(model(INPUTS), LABELS, reduction="none"), LABELS)
    optimizer.step(closure)
    assert F.cross_entropy(model(INPUTS), LABELS) < before / 2


def test_an_optimizer_without_a_learning_rate() -> None:
    model, reweighter = _made(NoRate)
    with pytest.raises(RecipeError, match=r"learning rate .*, which has none; .*param_groups\[0\]\['lr'\]"):
        reweighter.step(INPUTS, LABELS, INPUTS, LABELS)
    for group in reweighter._learner.optimizer.param_groups:
        group["lr"] = 0.1
    reweighter.step(INPUTS, LABELS, INPUTS, LABELS)
    twin, known = _made(lambda params: torch.optim.SGD(params, 0.1))
    known.step(INPUTS, LABELS, INPUTS, LABELS)
    torch.testing.assert_close(model.weight, twin.weight)


@pytest.mark.parametrize("lookahead", ["virtual", "real"])
@pytest.mark.parametrize("make", [lambda p: torch.optim.SGD(p, 0.1), lambda p: torch.optim.SparseAdam(list(p), 0.1)])
def test_sparse_gradients(make: Callable[..., Any], lookahead: Any) -> None:
    """An embedding with sparse gradients against the same with dense ones."""
    words = torch.randint(50, (24, 4), generator=torch.Generator().manual_seed(3))
    learned, moved = [], []
    for sparse in (True, False):
        torch.manual_seed(0)
        model = nn.EmbeddingBag(50, 3, mode="mean", sparse=sparse)
        adam = not isinstance(make(nn.EmbeddingBag(2, 2).parameters()), torch.optim.SGD)
        optimizer = make(model.parameters()) if sparse or not adam else torch.optim.SGD(model.parameters(), 0.1)
        reweighter = Reweighter(model, optimizer, LABELS, every=1, lookahead=lookahead)
        step = reweighter.step(words, LABELS, words[:9], LABELS[:9])
        learned.append(torch.cat([p.grad.flatten() for p in reweighter.weight_net.parameters() if p.grad is not None]))
        moved.append(model.weight.detach().clone())
        assert step.gradient_norms is not None
        assert all(norm.isfinite() for norm in step.gradient_norms)
    if lookahead == "virtual":  # at which SparseAdam looks ahead by a plain gradient step, as SGD takes
        torch.testing.assert_close(learned[0], learned[1])
    if not adam:
        torch.testing.assert_close(moved[0], moved[1])
