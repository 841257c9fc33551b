"""Several processes, each with a part of the batch: what they average."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, distributed, nn
from torch.nn.parallel import DistributedDataParallel

from reweigh.errors import LostProcessError

Reduce = Callable[[list[Tensor]], None]
"""Averages tensors over processes, in place."""


def alone(tensors: list[Tensor]) -> None:
    """The reduce of a single process: nothing to average."""


class Averaged(torch.autograd.Function):
    """The mean of a tensor over processes; its gradient is the mean of theirs.

    Each process uses the mean in its own part of the objective, and gradients are averaged over processes in the end.
    """

    @staticmethod
    def forward(ctx: Any, value: Tensor, reduce: Reduce) -> Tensor:
        ctx.reduce = reduce
        value = value.clone()
        reduce([value])
        return value

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        grad = grads[0].clone()
        ctx.reduce([grad])
        return grad, None


def parallel_in(model: nn.Module) -> DistributedDataParallel | None:
    """The wrapper that trains a model in several processes; None if it has none."""
    inner = getattr(model, "_orig_mod", model)  # compiled
    return inner if isinstance(inner, DistributedDataParallel) else None


def averaging(group: distributed.ProcessGroup | None) -> Reduce:
    """Average tensors over the processes of a group, all tensors of one type in one message."""

    def reduce(tensors: list[Tensor]) -> None:
        for tensor, total in zip(tensors, add_up(tensors, group), strict=True):
            tensor.copy_(total / distributed.get_world_size(group))

    return reduce


def add_up(tensors: list[Tensor], group: distributed.ProcessGroup | None = None) -> list[Tensor]:
    """The sums of tensors over the processes of a group, all tensors of one type in one message."""
    found = list(tensors)
    for kind in dict.fromkeys(tensor.dtype for tensor in tensors):
        alike = [number for number, tensor in enumerate(tensors) if tensor.dtype == kind]
        flat = torch.cat([tensors[number].reshape(-1) for number in alike])
        with collective():
            distributed.all_reduce(flat, group=group)
        parts = flat.split([tensors[number].numel() for number in alike])
        for number, part in zip(alike, parts, strict=True):
            found[number] = part.view_as(tensors[number])
    return found


@contextmanager
def collective() -> Iterator[None]:
    """Around an exchange: what torch raises when another process has ended becomes a LostProcessError."""
    try:
        yield
    except RuntimeError as error:
        raise LostProcessError("another process of this training has ended, or cannot be reached") from error


def start_alike(module: nn.Module, group: distributed.ProcessGroup | None) -> None:
    """Give a module the parameters and buffers that it has in the first process of a group."""
    for tensor in module.state_dict().values():
        distributed.broadcast(tensor, group=group, group_src=0)
