"""What must know of the whole batch when a process has only some of its rows: BatchNorm, dropout, recomputed parts."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.forward_ad import unpack_dual
from torch.overrides import TorchFunctionMode
from torch.utils import checkpoint

from reweigh.core.shards.exchange import own, rows, spread


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


NAMES = ("CheckpointFunction", "_checkpoint_without_reentrant_generator")  # what torch's ``checkpoint`` calls


@contextmanager
def recomputed_within(again: Callable[[], AbstractContextManager[None]]) -> Iterator[None]:
    """Inside, functions whose activations are not kept are computed in the context ``again()``, also in the backward.

    torch computes them again in the backward, when whatever surrounded the forward has ended: dropout would drop other
    units, BatchNorm would see the rows of one process, and gradients would not be summed.
    """

    def within(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        with again():
            return function(*args, **kwargs)

    class Reentrant:
        @staticmethod
        def apply(function: Callable[..., Any], *args: Any) -> Any:
            return plain[0].apply(partial(within, function), *args)

    def other(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return plain[1](partial(within, function), *args, **kwargs)

    plain: list[Any] = [getattr(checkpoint, name) for name in NAMES]
    try:
        for name, changed in zip(NAMES, (Reentrant, other), strict=True):
            setattr(checkpoint, name, changed)
        yield
    finally:
        for name, before in zip(NAMES, plain, strict=True):
            setattr(checkpoint, name, before)
