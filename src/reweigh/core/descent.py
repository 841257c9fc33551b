"""A step down the gradient of a loss. In fp16 the loss is scaled, or small gradients would be rounded to zero."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.amp.grad_scaler import GradScaler
from torch.optim import Optimizer

from reweigh.core.jvp import Engine
from reweigh.core.update import norm

_scaler: GradScaler | None = None


@contextmanager
def scaled(scaler: GradScaler | None) -> Iterator[None]:
    """Inside, gradients are those of the loss times the scale of ``scaler``, divided by it; None changes nothing.

    A step whose gradients are not finite is skipped, and the scale lowered; to know that, each step waits for the
    device.
    """
    global _scaler
    before, _scaler = _scaler, scaler
    try:
        yield
    finally:
        _scaler = before


def descend(loss: Tensor, *optimizers: Optimizer) -> None:
    """One step of each optimizer, along the gradient of the loss."""
    backward(loss, *optimizers)
    step(*optimizers)


def backward(loss: Tensor, *optimizers: Optimizer) -> None:
    """The gradient of the loss, where the optimizers look for it."""
    for optimizer in optimizers:
        optimizer.zero_grad()
    if _scaler is None:
        loss.backward()
        return
    _scaler.scale(loss.float()).backward()
    for optimizer in optimizers:
        _scaler.unscale_(optimizer)


def step(*optimizers: Optimizer) -> None:
    """One step of each optimizer, after ``backward``."""
    for optimizer in optimizers:
        optimizer.step() if _scaler is None else _scaler.step(optimizer)
    if _scaler is not None:
        _scaler.update()


def gradient(loss: Tensor, leaves: Sequence[Tensor], **options: Any) -> tuple[Any, ...]:
    """As ``torch.autograd.grad``."""
    if _scaler is None:
        return torch.autograd.grad(loss, leaves, **options)
    scale = _scaler.scale(torch.ones((), device=loss.device))
    grads = torch.autograd.grad(loss.float() * scale, leaves, **options)
    return tuple(None if grad is None else grad / scale for grad in grads)


def steady(engine: Engine) -> Engine:
    """The same Jacobian-vector product, in fp16 along a direction of length one; zero if even that overflows."""
    if _scaler is None:
        return engine

    def product(f: Any, at: Any, along: Any) -> Tensor:
        length = norm(list(along.values())).clamp_min(torch.finfo(torch.float32).tiny)
        found = engine(f, at, {name: part / length for name, part in along.items()}).float() * length
        return torch.where(found.isfinite().all(), found, 0.0)

    return product
