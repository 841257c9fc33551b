"""Inputs that do not fit into memory, read by threads when a batch asks for them."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import torch
from torch import Tensor

DEFAULT_MEMORY_GB = 2.0  # larger sets are read on demand


class OnDemand:
    """Inputs fetched one by one through a function, several at a time.

    Threads, not processes: decoding an image releases Python's lock, and nothing has to be copied between processes.
    """

    def __init__(
        self,
        read_one: Callable[[int], Tensor],
        length: int,
        shape: tuple[int, ...],
        dtype: torch.dtype = torch.uint8,
        workers: int | None = None,
    ) -> None:
        """
        Args:
            read_one: place -> the sample, of ``shape`` and ``dtype``.
            workers: threads; as many as there are processors by default, eight at most.
        """
        self.read_one = read_one
        self.length = length
        self.shape = shape
        self.dtype = dtype
        self.workers = workers or min(8, os.cpu_count() or 1)

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: Tensor, /) -> Tensor:
        places = torch.arange(self.length)[index].tolist()  # negative places and masks as for a tensor
        batch = torch.empty((len(places), *self.shape), dtype=self.dtype)

        def fill(row: int) -> None:
            batch[row] = self.read_one(places[row])

        if len(places) <= 1 or self.workers == 1:
            for row in range(len(places)):
                fill(row)
            return batch
        with ThreadPoolExecutor(self.workers) as pool:
            for _ in pool.map(fill, range(len(places))):
                pass
        return batch

    def in_memory(self) -> Tensor:
        """All of them as one tensor."""
        return self[torch.arange(self.length)]


def fits(length: int, shape: tuple[int, ...], dtype: torch.dtype, memory_gb: float) -> bool:
    """Do so many samples fit into ``memory_gb`` gigabytes (10^9 bytes)?"""
    return length * torch.Size(shape).numel() * dtype.itemsize <= memory_gb * 1e9
