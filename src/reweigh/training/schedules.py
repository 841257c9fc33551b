"""Optimizers, and schedules of their learning rate."""

from collections.abc import Callable, Iterable
from math import cos, pi
from typing import Annotated

from annotated_types import Ge, Gt, Le, Lt
from torch import Tensor
from torch.optim import SGD, Adam, AdamW, Optimizer

from reweigh.core.fast import can_fuse
from reweigh.errors import RecipeError

Rate = Annotated[float, Gt(0)]
Decay = Annotated[float, Ge(0)]
Momentum = Annotated[float, Ge(0), Lt(1)]
Betas = tuple[Momentum, Momentum]
BETAS = (0.9, 0.999)


def sgd(
    params: Iterable[Tensor],
    *,
    lr: Rate = 0.1,
    momentum: Momentum = 0.9,
    weight_decay: Decay = 5e-4,
    nesterov: bool = False,
) -> Optimizer:
    """Stochastic gradient descent; the defaults are those of the paper's ResNet-32 experiments.

    Raises:
        RecipeError: Nesterov without momentum.
    """
    if nesterov and momentum == 0:
        raise RecipeError("optimizer.nesterov: true needs a momentum above 0, got momentum = 0; set momentum = 0.9")
    return SGD(params, lr=lr, momentum=momentum, weight_decay=weight_decay, nesterov=nesterov)


def adam(
    params: Iterable[Tensor], *, lr: Rate = 1e-3, betas: Betas = BETAS, eps: Rate = 1e-8, weight_decay: Decay = 0.0
) -> Optimizer:
    """Adam; unlike in ``adamw``, the weight decay is added to the gradient."""
    params = list(params)
    return Adam(params, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, fused=can_fuse(params))


def adamw(
    params: Iterable[Tensor], *, lr: Rate = 1e-3, betas: Betas = BETAS, eps: Rate = 1e-8, weight_decay: Decay = 0.01
) -> Optimizer:
    """Adam with decoupled weight decay."""
    params = list(params)
    return AdamW(params, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, fused=can_fuse(params))


Factor = Callable[[int], float]
Share = Annotated[float, Ge(0), Le(1)]


class Schedule:
    """Sets the learning rate of every parameter group at the start of an epoch.

    The rates that the optimizer has when the schedule is made are the ones that get multiplied; make it before a
    checkpoint is loaded. It has no state of its own, so there is nothing to save.
    """

    def __init__(self, optimizer: Optimizer, factor: Factor) -> None:
        self.optimizer = optimizer
        self.factor = factor
        self.base = [float(group["lr"]) for group in optimizer.param_groups]

    def start_epoch(self, epoch: int) -> float:
        """Set the rates of an epoch (the first is 0) and return that of the first group."""
        factor = self.factor(epoch)
        for group, base in zip(self.optimizer.param_groups, self.base, strict=True):
            group["lr"] = base * factor
        return self.base[0] * factor


def constant(optimizer: Optimizer, epochs: int) -> Schedule:
    """The same rate throughout.

    Examples:
        >>> import torch
        >>> constant(torch.optim.SGD([torch.zeros(1)], lr=0.1), epochs=10).start_epoch(9)
        0.1
    """
    return Schedule(optimizer, lambda epoch: 1.0)


def step(
    optimizer: Optimizer,
    epochs: int,
    *,
    milestones: tuple[Annotated[float, Gt(0)], ...],
    factor: Annotated[float, Gt(0)] = 0.1,
) -> Schedule:
    """Multiply the rate by ``factor`` at each milestone, an epoch counted from 0.

    Examples:
        >>> import torch
        >>> schedule = step(torch.optim.SGD([torch.zeros(1)], lr=0.1), epochs=10, milestones=(5,))
        >>> schedule.start_epoch(4), round(schedule.start_epoch(5), 3)
        (0.1, 0.01)

    Args:
        milestones: epochs at which the rate falls; one within an epoch (12.5) takes effect with the next.
    """
    return Schedule(optimizer, lambda epoch: factor ** sum(epoch >= milestone for milestone in milestones))


def cosine(optimizer: Optimizer, epochs: int, *, floor: Share = 0.0, warmup: Annotated[float, Ge(0)] = 0.0) -> Schedule:
    """Half a cosine, from the full rate in epoch 0 toward ``floor`` times it at the end of training.

    Examples:
        >>> import torch
        >>> schedule = cosine(torch.optim.SGD([torch.zeros(1)], lr=0.1), epochs=10)
        >>> [round(schedule.start_epoch(epoch), 3) for epoch in (0, 5, 9)]
        [0.1, 0.05, 0.002]

    Args:
        warmup: number of epochs before, in which the rate rises in equal steps.
    """

    def multiplier(epoch: int) -> float:
        if epoch < warmup:
            return (epoch + 1) / (warmup + 1)
        return half_cosine((epoch - warmup) / max(epochs - warmup, 1), floor)

    return Schedule(optimizer, multiplier)


def cosine_7_16(optimizer: Optimizer, epochs: int) -> Schedule:
    """FixMatch's schedule: cos(7 pi t / 16), which falls to a fifth of the rate at the end.

    Examples:
        >>> import torch
        >>> schedule = cosine_7_16(torch.optim.SGD([torch.zeros(1)], lr=0.1), epochs=10)
        >>> [round(schedule.start_epoch(epoch), 3) for epoch in (0, 5, 10)]
        [0.1, 0.077, 0.02]
    """
    return Schedule(optimizer, lambda epoch: cos(7 * pi * epoch / (16 * epochs)))


def cosine_restarts(
    optimizer: Optimizer,
    epochs: int,
    *,
    first: Annotated[float, Gt(0)],
    factor: Annotated[int, Ge(1)] = 1,
    floor: Share = 0.0,
    start: Annotated[float, Ge(0)] = 0.0,
) -> Schedule:
    """Cosine with restarts (SGDR), each period ``factor`` times as long as the one before.

    Examples:
        >>> import torch
        >>> schedule = cosine_restarts(torch.optim.SGD([torch.zeros(1)], lr=0.1), epochs=10, first=4)
        >>> [round(schedule.start_epoch(epoch), 3) for epoch in (0, 3, 4)]
        [0.1, 0.015, 0.1]

    Args:
        first: epochs of the first period.
        start: the epoch in which it begins; before, the rate is constant.
    """

    def multiplier(epoch: int) -> float:
        begun, period = start, first
        while epoch >= begun + period:
            begun, period = begun + period, period * factor
        return half_cosine(max(epoch - begun, 0) / period, floor)

    return Schedule(optimizer, multiplier)


def half_cosine(progress: float, floor: float = 0.0) -> float:
    """1 at progress 0, ``floor`` at progress 1."""
    return floor + (1 - floor) * (1 + cos(pi * progress)) / 2
