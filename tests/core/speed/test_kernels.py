"""Operations on dual numbers against those that torch derives by itself."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.forward_ad import dual_level, make_dual, unpack_dual
from torch.nn.attention import SDPBackend, sdpa_kernel

from reweigh.core.speed.duals import FastDuals
from reweigh.core.speed.kernels import KERNELS

MASK = torch.rand(6, 6, generator=torch.Generator().manual_seed(0)) > 0.4

# x and y are dual numbers, c is a constant, all of shape (5, 6); row has shape (6,), soft has rows that sum to one
CASES: dict[str, Callable[..., Tensor]] = {
    "times a number": lambda x, **_: x * 3 + 2.5 * x,
    "times a constant": lambda x, c, **_: x * c - c * x * 2,
    "times a wider constant": lambda row, c, **_: row * c,
    "dual times dual": lambda x, y, **_: x * y,
    "plus": lambda x, c, row, **_: (x + c) + (1 + x) + (c + row),
    "plus twice": lambda x, c, **_: torch.add(x, c, alpha=2),
    "minus": lambda x, c, row, **_: (x - c) + (c - x) * 2 + (x - 1) + (1 - x) * 3 + torch.sub(c, row),
    "divided": lambda x, c, y, **_: x / c + x / 3 + torch.div(c, y) + 1 / x,
    "double and single": lambda x, c, **_: x.float() * c + x.float() + c,
    "soft labels": lambda x, soft, **_: F.cross_entropy(x, soft, reduction="none"),
    "soft labels, mean": lambda x, soft, **_: F.cross_entropy(x, soft),
    "soft labels, smooth": lambda x, soft, **_: F.cross_entropy(x, soft, reduction="none", label_smoothing=0.1),
    "labels": lambda x, **_: F.cross_entropy(x, torch.tensor([0, 1, 5, 2, -100]), reduction="none"),
    "dropout": lambda x, **_: F.dropout(x, 0.4) + F.dropout(x, 0.4, training=False),
    "attention": lambda x, y, **_: F.scaled_dot_product_attention(*heads(x, y, x * y)),
    "attention, scale": lambda x, y, **_: F.scaled_dot_product_attention(*heads(x, y, y), scale=0.3),
    "attention, causal": lambda x, y, **_: F.scaled_dot_product_attention(*heads(x, y, y), is_causal=True),
    "attention, mask": lambda x, y, **_: F.scaled_dot_product_attention(*heads(x, y, y), attn_mask=MASK[:5, :5]),
    "attention, added mask": lambda x, y, c, **_: F.scaled_dot_product_attention(*heads(x, y, y), c[:, :5]),
    "attention, constant keys": lambda x, c, **_: F.scaled_dot_product_attention(*heads(x, c, x)),
}


def heads(*tensors: Tensor) -> list[Tensor]:
    """One sample of two heads, five tokens and width three."""
    return [tensor.view(1, 5, 2, 3).transpose(1, 2) for tensor in tensors]


@pytest.fixture(autouse=True)
def _double() -> Iterator[None]:
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def _slope(case: Callable[..., Tensor], fast: bool) -> tuple[Tensor, Tensor]:
    torch.manual_seed(0)
    value = {name: torch.rand(5, 6) + 0.5 for name in ("x", "y", "c", "soft")}
    with torch.no_grad(), dual_level(), sdpa_kernel(SDPBackend.MATH):
        given: dict[str, Any] = {"c": value["c"], "soft": value["soft"] / value["soft"].sum(1, keepdim=True)}
        given |= {name: make_dual(value[name], torch.randn(5, 6)) for name in ("x", "y")}
        given["row"] = make_dual(torch.rand(6), torch.randn(6))
        torch.manual_seed(1)
        if fast:
            with FastDuals([]):
                found = case(**given)
        else:
            found = case(**given)
        primal, tangent = unpack_dual(found)
        assert tangent is not None
        return primal.clone(), tangent.clone()


@pytest.mark.parametrize("name", CASES)
def test_the_same_derivative(name: str) -> None:
    torch.testing.assert_close(_slope(CASES[name], True), _slope(CASES[name], False), rtol=1e-12, atol=1e-12)


def test_every_kernel_is_compared() -> None:
    used: set[Any] = set()

    def watched(func: Any) -> Callable[..., Tensor]:
        return lambda *args, **named: used.add(func) or KERNELS[func](*args, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("reweigh.core.speed.duals.KERNELS", {func: watched(func) for func in KERNELS})
        for case in CASES.values():
            _slope(case, True)
    missing = {func.__name__ for func in KERNELS} - {func.__name__ for func in used}
    assert missing == {"batch_norm"}, missing  # with the models of test_duals
