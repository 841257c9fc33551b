"""Inputs that do not fit in memory, read by threads when a batch asks for them."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import torch
from torch import Tensor

from reweigh.data.dataset import Inputs
from reweigh.errors import DataError

DEFAULT_MEMORY_GB = 2.0  # larger sets are read on demand
SAMPLED = 250  # inputs that say what the mean and the standard deviation are; 250 photos are millions of pixels


class OnDemand:
    """Inputs that a function reads one by one, in several threads.

    Threads, not processes: decoding an image releases the GIL, and nothing has to be copied between processes.
    """

    def __init__(
        self,
        read_one: Callable[[int], Tensor],
        length: int,
        shape: tuple[int, ...],
        dtype: torch.dtype = torch.uint8,
        workers: int | None = None,
        content: Callable[[int], Sequence[bytes]] | None = None,
    ) -> None:
        """
        Args:
            read_one: index -> the sample, of ``shape`` and ``dtype``.
            workers: number of threads; by default the number of processors, at most eight.
            content: index -> bytes that determine the sample, which are quicker to read than the sample itself.
        """
        self.read_one = read_one
        self.length = length
        self.shape = shape
        self.dtype = dtype
        self.workers = workers or min(8, os.cpu_count() or 1)
        self.content = content

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: Tensor, /) -> Tensor:
        indices = torch.arange(self.length)[index].tolist()  # negative indices and masks as for a tensor
        batch = torch.empty((len(indices), *self.shape), dtype=self.dtype)

        def fill(rows: range) -> None:
            for row in rows:
                batch[row] = self.read_one(indices[row])

        shares = [range(first, len(indices), self.workers) for first in range(min(self.workers, len(indices)))]
        if len(shares) <= 1:
            fill(range(len(indices)))
            return batch
        with ThreadPoolExecutor(len(shares)) as pool:
            for _ in pool.map(fill, shares):
                pass
        return batch

    def in_memory(self) -> Tensor:
        """All inputs as one tensor."""
        return self[torch.arange(self.length)]


def some_of(inputs: Inputs) -> Tensor:
    """Inputs from which to compute mean and standard deviation: all if in memory, otherwise a few hundred at random."""
    if isinstance(inputs, Tensor):
        return inputs
    index = torch.randperm(len(inputs), generator=torch.Generator().manual_seed(0))[:SAMPLED]
    try:
        return inputs[index]
    except DataError:  # some cannot be read, which is reported where they are needed
        return torch.cat([rows for place in index for rows in _readable(inputs, place)])


def _readable(inputs: Inputs, place: Tensor) -> list[Tensor]:
    try:
        return [inputs[place[None]]]
    except DataError:
        return []


def fits(length: int, shape: tuple[int, ...], dtype: torch.dtype, memory_gb: float) -> bool:
    """Whether this many samples fit in ``memory_gb`` gigabytes (10^9 bytes)."""
    return length * torch.Size(shape).numel() * dtype.itemsize <= memory_gb * 1e9
