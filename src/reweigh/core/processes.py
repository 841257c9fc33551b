"""What several processes that train one model together average, and send each other."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, distributed, nn
from torch.nn.parallel import DistributedDataParallel

from reweigh.errors import LostProcessError, ModelError

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


def group_of(model: nn.Module) -> distributed.ProcessGroup | None:
    """The processes that train a model together; None if it is not wrapped for several.

    Raises:
        ModelError: Each process has a piece of the parameters only.
    """
    inner = getattr(model, "_orig_mod", model)  # compiled
    kinds = {kind.__name__ for part in inner.modules() for kind in type(part).__mro__}
    if found := kinds & {"FullyShardedDataParallel", "FSDPModule"}:
        raise ModelError(
            f"the model is under {'fully_shard' if 'FSDPModule' in found else 'FullyShardedDataParallel'}, so that "
            "each process has a piece of its parameters, which cannot be moved to look one step ahead. Use "
            "DistributedDataParallel"
        )
    return inner.process_group if isinstance(inner, DistributedDataParallel) else None


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


def as_first(tensors: list[Tensor], group: distributed.ProcessGroup | None = None) -> None:
    """Give tensors the values of the first process of a group, in place, all tensors of one type in one message."""
    for kind in dict.fromkeys(tensor.dtype for tensor in tensors):
        alike = [tensor for tensor in tensors if tensor.dtype == kind]
        flat = torch.cat([tensor.reshape(-1) for tensor in alike])
        with collective():
            distributed.broadcast(flat, group=group, group_src=0)
        for tensor, part in zip(alike, flat.split([tensor.numel() for tensor in alike]), strict=True):
            tensor.data.copy_(part.view_as(tensor))  # autograd holds running statistics, which no gradient depends on


@contextmanager
def collective() -> Iterator[None]:
    """Around an exchange: what torch raises when another process has ended becomes a LostProcessError."""
    try:
        yield
    except RuntimeError as error:
        raise LostProcessError("another process of this training has ended, or cannot be reached") from error


def all_counts(counts: Tensor, group: distributed.ProcessGroup | None) -> Tensor:
    """Class sizes of the whole training set, shape (num_classes,), wherever a process counted.

    Processes that all have the same counts have all counted the whole set; else each has counted its own part. (If
    parts have the same counts, these are the shares of the whole, which is all that families depend on.)

    Args:
        counts: class sizes as this process counted them; the number of classes may differ.
    """
    many = torch.tensor(len(counts))
    with collective():
        distributed.all_reduce(many, distributed.ReduceOp.MAX, group)
    padded = torch.cat([counts, counts.new_zeros(int(many) - len(counts))])
    found = [torch.empty_like(padded) for _ in range(distributed.get_world_size(group))]
    with collective():
        distributed.all_gather(found, padded, group)
    return padded if all(torch.equal(padded, its) for its in found) else torch.stack(found).sum(0)
