"""One step: down the gradient of a loss (scaled in fp16), what it asks of the weights, and what it reports."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol, runtime_checkable

import torch
from torch import Tensor
from torch.amp.grad_scaler import GradScaler
from torch.optim import Optimizer

from reweigh.core.jvp import Engine
from reweigh.core.processes import Reduce
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


@runtime_checkable
class Weigher(Protocol):
    """Whatever gives samples their weights, and can be taught to give better ones.

    Attributes:
        learns: False if the weights are fixed.
        remembers: What was learned from one batch serves the next; otherwise only a virtual look-ahead makes sense.
    """

    learns: bool
    remembers: bool

    def propose(self, losses: Tensor, family: Tensor) -> Tensor:
        """Weights for the look-ahead, with a graph to whatever is learned; shapes (slots,)."""
        ...

    def __call__(self, losses: Tensor, family: Tensor) -> Tensor:
        """Weights to train with; shapes (slots,), no graph."""
        ...

    def learn(self, weights: Tensor, gradient: Tensor, reduce: Reduce) -> Tensor:
        """Improve by ``gradient``, that of the meta loss with respect to the (normalized) proposed ``weights``.

        Returns:
            The norm of the gradient of whatever is learned.
        """
        ...

    def state_dict(self) -> dict[str, Any]:
        """All that a resumed training needs."""
        ...

    def load_state_dict(self, state: dict[str, Any], /) -> Any:
        """Continue as if never interrupted."""
        ...


class Step(NamedTuple):
    """What one step did.

    Attributes:
        loss: The weighted training loss, scalar.
        weights: Shape (slots,), the weights that were trained with, before normalization.
        losses: Shape (slots,), the unweighted losses that the weight net read.
        meta_loss: The loss on trusted data one step ahead, scalar; None where the weights were not learned.
        outputs: What the model returned for the batch; None if the objective does not say.
        gradient_norms: Of the training loss by the parameters that the look-ahead moves, and of the meta loss by what
            is learned (paper: Theorems 1 and 2); None where the weights were not learned.
    """

    loss: Tensor
    weights: Tensor
    losses: Tensor
    meta_loss: Tensor | None = None
    outputs: Any = None
    gradient_norms: tuple[Tensor, Tensor] | None = None

    def scalars(self) -> dict[str, Tensor]:
        """What to log of it: the loss, the mean weight and, where the weights were learned, how.

        Scalars that stay on the device of the model until ``float`` reads them.
        """
        scalars = {"loss": self.loss, "weight": self.weights.mean()}
        if self.meta_loss is None or self.gradient_norms is None:
            return scalars
        inner, outer = self.gradient_norms
        return {**scalars, "meta_loss": self.meta_loss, "gradient_norm": inner, "meta_gradient_norm": outer}
