"""Models that compute a part of themselves in another way have the meta-gradient of the plain model."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from reweigh import Reweighter

LABELS = torch.arange(12) % 3


class Checkpointed(nn.Sequential):
    """Layers whose activations are computed again in the backward."""

    def forward(self, inputs: Tensor) -> Tensor:
        return checkpoint(super().forward, inputs, use_reentrant=False)


def model(dtype: torch.dtype, kind: type[nn.Sequential] = nn.Sequential) -> nn.Sequential:
    torch.manual_seed(0)
    part = kind(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh())
    return nn.Sequential(part, nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 3)).to(dtype)


def meta_gradient(network: nn.Module, *, autocast: bool = False, **options: Any) -> Tensor:
    """The gradient of the loss on trusted data by the weights of a batch, in the third step."""
    dtype = next(network.parameters()).dtype
    generator = torch.Generator().manual_seed(1)
    inputs, trusted = (torch.randn(12, 6, generator=generator).to(dtype) for _ in range(2))
    optimizer = torch.optim.SGD(network.parameters(), 0.2, momentum=0.9)
    torch.manual_seed(2)
    reweighter = Reweighter(network, optimizer, LABELS, every=1, **options)
    found: list[Tensor] = []
    learn = reweighter.weights.learn

    def watched(weights: Tensor, gradient: Tensor, reduce: Any) -> Tensor:
        found.append(gradient.clone())
        return learn(weights, gradient, reduce)

    reweighter.weights.learn = watched
    with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
        for _ in range(3):
            reweighter.step(inputs, LABELS, trusted, LABELS)
    return found[-1]


def off(some: Tensor, other: Tensor) -> float:
    return float((some - other).norm() / other.norm())


@pytest.mark.parametrize("lookahead", ["virtual", "real"])
@pytest.mark.parametrize("engine", ["forward", "difference"])
def test_activation_checkpointing(engine: str, lookahead: str) -> None:
    plain, again = (
        meta_gradient(model(torch.float64, kind), engine=engine, lookahead=lookahead)
        for kind in (nn.Sequential, Checkpointed)
    )
    assert off(again, plain) < 1e-12


def in_place(network: nn.Sequential) -> None:
    network[0].compile(backend="aot_eager")


def as_wrapper(network: nn.Sequential) -> None:
    network[0] = torch.compile(network[0], backend="aot_eager")


@pytest.mark.parametrize("compiled", [in_place, as_wrapper])
def test_a_compiled_part(compiled: Callable[[nn.Sequential], None]) -> None:
    network = model(torch.float64)
    compiled(network)
    assert off(meta_gradient(network, engine="forward"), meta_gradient(model(torch.float64), engine="forward")) < 1e-12


@pytest.mark.parametrize("scope", ["all", "last-layer"])
def test_difference_under_autocast_is_no_noise(scope: str) -> None:
    mixed = meta_gradient(model(torch.float32), engine="difference", autocast=True, scope=scope)
    exact = meta_gradient(model(torch.float32), engine="forward", scope=scope)
    assert off(mixed, exact) < 0.03  # the steps before were in half precision


def test_difference_in_single_precision() -> None:
    exact = meta_gradient(model(torch.float32), engine="forward")
    assert off(meta_gradient(model(torch.float32), engine="difference"), exact) < 2e-3
