"""Features that stay on disk: the parts of a cache are memory-mapped, and a batch copies its rows from them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from reweigh.data.inputs import Fetched
from reweigh.files.row_cache import RowCache, mapped

AT_ONCE = 1000  # rows


class StoredRows(Fetched):
    """The rows of a cache that belong to some samples; NaN for a sample without any.

    Another process that gets this object maps the same files.

    Args:
        width: Numbers per row.
        places: Shape (N, 2): in which part the row of each sample is, -1 for none, and at which place in it.
        parts: The files.
    """

    def __init__(self, width: int, places: Tensor, parts: Sequence[Path]) -> None:
        self.width, self.places, self.parts = width, places, list(parts)
        self._mapped: dict[int, np.ndarray] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_mapped": {}}

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, index: Tensor, /) -> Tensor:
        rows = [self._part(part)[place] for part, place in self.places[index].tolist()]
        return torch.from_numpy(np.stack(rows)) if rows else torch.empty(0, self.width)

    def _part(self, number: int) -> np.ndarray:
        if number not in self._mapped:
            nothing = np.full((1, self.width), np.nan, dtype=np.float32)
            self._mapped[number] = nothing if number < 0 else mapped(self.parts[number]).numpy()
        return self._mapped[number]

    @property
    def missing(self) -> Tensor:
        """Which samples have no row, shape (N,) bool."""
        return self.places[:, 0] < 0

    def add(self, index: Tensor, part: Path) -> None:
        """Let a part hold the rows of the samples at ``index``, in that order."""
        self.places[index] = torch.stack([torch.full_like(index, len(self.parts)), torch.arange(len(index))], dim=1)
        self.parts.append(part)

    def in_memory(self) -> Tensor:
        """All rows as one tensor."""
        rows = torch.empty(len(self), self.width)
        for index in torch.arange(len(self)).split(AT_ONCE):
            rows[index] = self[index]
        return rows


def find(store: RowCache, digests: Sequence[bytes]) -> StoredRows:
    """The rows of samples in a cache, each sample by its digest."""
    return StoredRows(store.width, *store.find(digests))


def joined(shares: Sequence[Tensor | StoredRows]) -> Tensor | StoredRows:
    """The rows of several shares of the samples one after another."""
    if len(shares) == 1:
        return shares[0]
    on_disk = [share for share in shares if isinstance(share, StoredRows)]
    if len(on_disk) < len(shares):
        return torch.cat([share if isinstance(share, Tensor) else share.in_memory() for share in shares])
    places, parts = [], []
    for share in on_disk:
        places.append(share.places + torch.tensor([len(parts), 0]) * ~share.missing[:, None])
        parts += share.parts
    return StoredRows(on_disk[0].width, torch.cat(places), parts)
