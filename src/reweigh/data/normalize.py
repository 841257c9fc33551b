"""Raw batches to floats of mean 0 and standard deviation 1, per channel or feature."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from reweigh.core.sparse import SparseBatch

if TYPE_CHECKING:
    from reweigh.data.inputs import Inputs

TINY = torch.finfo(torch.float32).tiny
HUGE = 1e37  # near the end of float32, where sums are no longer finite
AT_ONCE = 50_000  # values at a time; all in double precision would take two more copies of the data


def as_float(batch: Tensor) -> Tensor:
    """Bytes to floats in [0, 1]; floats as they are. Also what normalizes a dataset that needs no more."""
    return batch.float().div_(255) if batch.dtype == torch.uint8 else batch.float()


class Standardize:
    """(x - mean) / std along dimension 1: channels of images or columns of features."""

    def __init__(self, mean: Sequence[float] | Tensor, std: Sequence[float] | Tensor) -> None:
        self.mean = torch.as_tensor(mean, dtype=torch.float32)
        self.std = torch.as_tensor(std, dtype=torch.float32)
        self._shifts = bool(self.mean.any())

    def __call__(self, batch: Tensor) -> Tensor:
        batch = as_float(batch)
        if isinstance(batch, SparseBatch) and not self._shifts:
            return batch.scaled(1 / self.std)
        shape = (1, -1) + (1,) * (batch.ndim - 2)
        return (batch - self.mean.to(batch.device).view(shape)).div_(self.std.to(batch.device).view(shape))

    def __repr__(self) -> str:
        return f"Standardize(mean={self.mean.tolist()}, std={self.std.tolist()})"


class StandardizeLater(Standardize):
    """The same as ``standardize_like`` of inputs that are fetched when the first batch is normalized."""

    def __init__(self, fetch: "Callable[[], Inputs]") -> None:
        self._fetch = fetch

    def __getattr__(self, name: str) -> Any:
        if name not in ("mean", "std", "_shifts"):
            raise AttributeError(name)
        self.__dict__ |= standardize_like(self._fetch()).__dict__
        return self.__dict__[name]


def standardize_like(inputs: "Inputs") -> Standardize:
    """The normalization that gives ``inputs`` mean 0 and standard deviation 1; a constant channel keeps its scale.

    Args:
        inputs: Shape (N, C, ...), bytes or floats; floats may be fetched from elsewhere.
    """
    # counting the 256 values of bytes needs no float copy of the images
    if isinstance(inputs, Tensor) and inputs.dtype == torch.uint8:
        counts = torch.stack(
            [torch.bincount(channel.flatten(), minlength=256) for channel in inputs.unbind(1)]
        ).double()
        values = torch.arange(256, dtype=torch.float64) / 255
        mean = (counts @ values) / counts.sum(1)
        std = ((counts @ values.square()) / counts.sum(1) - mean.square()).clamp_min(0).sqrt()
    else:
        mean = _mean(inputs)
        std = _mean(inputs, mean).sqrt()
    return Standardize(mean, torch.where(std > torch.clamp_min(1e-12 * mean.abs(), TINY), std, 1.0))


def _mean(inputs: "Inputs", center: Tensor | None = None) -> Tensor:
    """Mean of the values, or of their squared distances from ``center``, in double precision and in chunks."""
    shape = inputs[torch.empty(0, dtype=torch.int64)].shape[1:]
    chunk = max(1, AT_ONCE // max(1, shape.numel()))
    indices = torch.arange(len(inputs)).split(chunk)
    total = torch.zeros(shape[0], dtype=torch.float64)
    for part in inputs.split(chunk) if isinstance(inputs, Tensor) else (inputs[index] for index in indices):
        values = part.double()
        if center is not None:
            values = (values - center.view(-1, *(1,) * (values.ndim - 2))).square_()
        total += values.sum([dim for dim in range(values.ndim) if dim != 1])
    return total / (len(inputs) * shape[1:].numel())
