"""A model that several processes compute together: each does its rows of a batch, and all get the whole answer.

Everything around the model is the same in every process: batches, losses, weights, pseudo-labels, the optimizer. So a
method does not mention processes, and whatever it does with a batch (sort it, mix it, sum it) is what one process
would do. Exchanged are the outputs of the model, in one message, and the gradients of its parameters, in another.

A *replicated* tensor is the same in every process; a *split* one has the rows of this process; a *partial* one is a
summand of this process. Each exchange is linear and the next one is its adjoint, so first and second derivatives and
forward mode are exact.

    rows:   split -> replicated       own_rows:  replicated -> split
    total:  partial -> replicated     spread:    replicated -> used by each process for its own rows
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor, distributed, nn
from torch.autograd.forward_ad import make_dual, unpack_dual
from torch.overrides import TorchFunctionMode

from reweigh.core.objective import map_tensors
from reweigh.core.processes import add_up, collective
from reweigh.errors import ModelError


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


class Batchwise(TorchFunctionMode):
    """Inside, BatchNorm uses the statistics of all rows, and dropout drops what it would drop among all rows.

    Args:
        n: Rows in all processes.
        sizes: Rows in each process.
    """

    def __init__(self, n: int, sizes: list[int]):
        super().__init__()
        self._n, self._sizes = n, sizes

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if func is F.batch_norm:
            return self._batch_norm(*args, **(kwargs or {}))
        if func is F.dropout:
            return self._dropout(*args, **(kwargs or {}))
        return func(*args, **(kwargs or {}))

    def _batch_norm(
        self, inputs: Tensor, running_mean: Tensor | None, running_var: Tensor | None, weight: Tensor | None = None,
        bias: Tensor | None = None, training: bool = False, momentum: float = 0.1, eps: float = 1e-5,
    ) -> Tensor:  # fmt: skip
        if not training:
            return F.batch_norm(inputs, running_mean, running_var, weight, bias, training, momentum, eps)
        others = [0, *range(2, inputs.dim())]
        per_row = inputs[0].numel() // max(inputs.shape[1], 1)
        mean = inputs.mean(others)
        spread_out = (inputs - _column(mean, inputs)).square().sum(others)
        # each process sends the mean of its rows and their squared distance from it; the differences of means follow
        stats = rows(torch.stack([mean, spread_out])[None], len(self._sizes))
        counts = stats.new_tensor([size * per_row for size in self._sizes])[:, None]
        count = counts.sum()
        mean = (counts * stats[:, 0]).sum(0) / count
        squares = stats[:, 1].sum(0) + (counts * (stats[:, 0] - mean).square()).sum(0)
        # here and not before: so the gradients of two numbers per channel are sent, not those of every process
        mean, squares = spread(mean, squares)
        variance = squares / count
        with torch.no_grad():
            for running, now in ((running_mean, mean), (running_var, squares / (count - 1).clamp_min(1))):
                if running is not None:
                    running.lerp_(unpack_dual(now).primal.to(running.dtype), momentum)
        scale = (variance + eps).rsqrt() if weight is None else weight * (variance + eps).rsqrt()
        shift = -mean * scale if bias is None else bias - mean * scale
        return inputs * _column(scale, inputs).to(inputs.dtype) + _column(shift, inputs).to(inputs.dtype)

    def _dropout(self, inputs: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
        mine = own(self._n)
        if not training or not p or len(inputs) != mine.stop - mine.start:
            return F.dropout(inputs, p, training, inplace)
        ones = inputs.new_ones((self._n, *inputs.shape[1:]))
        if not inputs.is_contiguous() and inputs.dim() == 4:  # random numbers fill a tensor in the order of memory
            ones = ones.contiguous(memory_format=torch.channels_last)
        mask = F.dropout(ones, p, True)[mine]
        return inputs.mul_(mask) if inplace else inputs * mask


def _column(values: Tensor, like: Tensor) -> Tensor:
    """One value per channel, in a shape that meets ``like``."""
    return values.view(1, -1, *[1] * (like.dim() - 2))


T = TypeVar("T")


class _Sharded:
    """Mixed into the class of a model; the model stays what it is, with its names, its state and its copies."""

    def forward(self: Any, *args: Any, **kwargs: Any) -> Any:
        return split(self, super().forward, *args, **kwargs)  # type: ignore[misc]


def shard(model: nn.Module) -> nn.Module:
    """Let all processes compute the model together, from now on; it is changed in place, and returned.

    Called with a batch, the same in every process, it returns the outputs for all of it, and its parameters get the
    whole gradient. Copies do the same. Every process must call it, and in the same order as others.
    """
    if not is_sharded(model):
        model.__class__ = _sharded(type(model))
    return model


def shard_like(model: nn.Module, other: nn.Module) -> nn.Module:
    """The same if all processes compute the other model together."""
    return shard(model) if is_sharded(other) else model


def whole(model: nn.Module) -> nn.Module:
    """Undo ``shard`` in a model and everything in it."""
    for module in model.modules():
        if is_sharded(module):
            module.__class__ = type(module).__mro__[2]
            module.__dict__.pop("_asked_apart", None)
    return model


def is_sharded(model: nn.Module) -> bool:
    return isinstance(model, _Sharded)


@cache
def _sharded(kind: type[nn.Module]) -> type[nn.Module]:
    named = {key: getattr(kind, key) for key in ("__module__", "__qualname__", "__doc__")}
    return type(kind.__name__, (_Sharded, kind), named)


_inside = False


def split(model: nn.Module, function: Callable[..., T], *args: Any, **kwargs: Any) -> T:
    """``function`` of a batch, by all processes together if ``model`` is sharded; else simply called.

    Args:
        model: what the function computes with; gradients of its parameters are summed over processes.
        function: its outputs have one row per row of the batch.
        args: tensors have one row per sample; other arguments are passed on.
    """
    processes = distributed.get_world_size() if is_sharded(model) and not _inside else 1
    n = next((len(arg) for arg in args if isinstance(arg, Tensor)), 0)
    if processes == 1 or n < processes:  # so few rows are computed by every process
        with _within():
            return function(*args, **kwargs)
    sizes = shares(n)
    local = sizes[distributed.get_rank()]

    def joined(output: Tensor) -> Tensor:
        if output.dim() == 0 or len(output) != local:
            raise ModelError(
                f"the model returned shape {tuple(output.shape)} for {local} samples; several processes can only train "
                "a model whose outputs have one row per sample"
            )
        return rows(output, n)

    mine = [own_rows(arg) if isinstance(arg, Tensor) else arg for arg in args]
    with _within(), _spread_parameters(model), Batchwise(n, sizes):
        outputs = function(*mine, **kwargs)
    return map_tensors(joined, outputs)


@contextmanager
def _within() -> Iterator[None]:
    """Inside, models are computed as they are: what they get is split already."""
    global _inside
    before, _inside = _inside, True
    try:
        yield
    finally:
        _inside = before


def ask_apart(model: nn.Module, names: Collection[str]) -> None:
    """From now on the gradients of these parameters can be asked for without those of others, which are not sent then.

    Gradients that are summed in one message are computed together, whichever of them is asked for.
    """
    if is_sharded(model):
        model._asked_apart = frozenset(names)  # type: ignore[assignment]


@contextmanager
def _spread_parameters(model: nn.Module) -> Iterator[None]:
    """Inside, the gradients of the model's parameters are summed over processes."""
    apart = getattr(model, "_asked_apart", frozenset[str]())
    owners: dict[int, list[tuple[nn.Module, str]]] = {}
    used: dict[int, Tensor] = {}
    messages: dict[bool, dict[int, Tensor]] = {}
    if torch.is_grad_enabled():
        for path, module in model.named_modules():
            for name, param in module._parameters.items():
                if param is not None and param.requires_grad:
                    owners.setdefault(id(param), []).append((module, name))  # a tied one has several
                    if id(param) not in used:
                        used[id(param)] = param
                        messages.setdefault(f"{path}.{name}".lstrip(".") in apart, {})[id(param)] = param
    try:
        for together in messages.values():
            for key, alias in zip(together, spread(*together.values()), strict=True):
                for module, name in owners[key]:
                    module._parameters[name] = alias  # type: ignore[assignment]
        yield
    finally:
        for key, param in used.items():
            for module, name in owners[key]:
                module._parameters[name] = param  # type: ignore[assignment]
