"""Raw inputs: rows in memory, or rows that are fetched when a batch needs them."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np
import torch
from torch import Generator, Tensor

from reweigh.core.sparse import SparseBatch
from reweigh.data.normalize import MAX_FLOAT


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


def drawn(views: Sequence[Tensor], generator: Generator) -> Tensor:
    """One view of each sample, all equally likely, shape (n, ...)."""
    samples = len(views[0])
    which = torch.randint(len(views), (samples,), generator=generator, device=generator.device)
    return torch.stack(list(views))[which.to(views[0].device), torch.arange(samples)]
