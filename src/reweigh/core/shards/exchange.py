"""What processes exchange while each computes a part of a batch, differentiable in every mode.

A *replicated* tensor is the same in every process; a *split* one has the rows of this process; a *partial* one is a
summand of this process. Each exchange is linear and the next one is its adjoint, so first and second derivatives and
forward mode are exact.

    rows:   split -> replicated       own_rows:  replicated -> split
    total:  partial -> replicated     spread:    replicated -> used by each process for its own rows
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, distributed
from torch.autograd.forward_ad import make_dual, unpack_dual

from reweigh.core.processes import add_up, collective


def bounds(n: int, process: int, processes: int) -> tuple[int, int]:
    """Start and end of the rows of a process among n rows; the first processes have one more if need be."""
    each, more = divmod(n, processes)
    start = process * each + min(process, more)
    return start, start + each + (process < more)


def own(n: int) -> slice:
    """The rows of this process among n rows."""
    return slice(*bounds(n, distributed.get_rank(), distributed.get_world_size()))


def rows(split: Tensor, n: int) -> Tensor:
    """All n rows in every process, each of which brings its own."""
    value, slope = unpack_dual(split)
    if slope is not None:
        return make_dual(gather(value, shares(n)), gather(slope, shares(n)))
    return _Rows.apply(split, n) if torch.is_grad_enabled() and split.requires_grad else gather(split, shares(n))


def own_rows(replicated: Tensor) -> Tensor:
    """The rows of this process."""
    needed = torch.is_grad_enabled() and replicated.requires_grad
    return _OwnRows.apply(replicated) if needed else replicated[own(len(replicated))]


def spread(*replicated: Tensor) -> tuple[Tensor, ...]:
    """The same tensors, to compute with the rows of this process; their gradients are summed, in one message."""
    forward_mode = any(unpack_dual(tensor).tangent is not None for tensor in replicated)
    return _Spread.apply(*replicated) if torch.is_grad_enabled() and not forward_mode else replicated


def shares(n: int) -> list[int]:
    """How many of n rows each process has."""
    processes = distributed.get_world_size()
    return [end - start for start, end in (bounds(n, process, processes) for process in range(processes))]


def gather(split: Tensor, sizes: Sequence[int]) -> Tensor:
    """As ``rows``, without derivatives; ``sizes`` are the numbers of rows in each process."""
    processes = len(sizes)
    padded = split.new_zeros((max(sizes), *split.shape[1:]))
    padded[: len(split)] = split
    found = split.new_empty((processes, *padded.shape))
    with collective():
        distributed.all_gather(list(found.unbind()), padded)
    return torch.cat([part[:size] for part, size in zip(found, sizes, strict=True)])


class _Rows(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, split: Tensor, n: int) -> Tensor:
        return gather(split, shares(n))

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        return own_rows(grads[0]), None


class _OwnRows(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, replicated: Tensor) -> Tensor:
        ctx.n = len(replicated)
        return replicated[own(ctx.n)].clone()

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        return rows(grads[0], ctx.n)


class _Spread(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, *replicated: Tensor) -> tuple[Tensor, ...]:
        ctx.set_materialize_grads(False)
        return tuple(tensor.view_as(tensor) for tensor in replicated)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
        summed = iter(_Total.apply(*(grad for grad in grads if grad is not None)))
        return tuple(None if grad is None else next(summed) for grad in grads)


class _Total(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, *partial: Tensor) -> tuple[Tensor, ...]:
        ctx.set_materialize_grads(False)
        return tuple(add_up(list(partial)))

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
        again = iter(spread(*(grad for grad in grads if grad is not None)))
        return tuple(None if grad is None else next(again) for grad in grads)
