"""Sparse matrices as inputs, whose batches are sparse too."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from reweigh.core.sparse import Entries, SparseBatch
from reweigh.data.normalize import HUGE, MAX_DEVIATIONS, Standardize

ENTRIES_AT_ONCE = 1_000_000
MAX_MEDIANS = 10.0  # times the median of a column, beyond which entries count as if they were there


class SparseRows:
    """Inputs in a SciPy CSR matrix.

    Args:
        matrix: ``csr_matrix`` or ``csr_array``, shape (N, D); not copied.
    """

    def __init__(self, matrix: Any) -> None:
        self.matrix = matrix
        self._entries = Entries(matrix.indptr, matrix.indices, matrix.data, matrix.shape[1])

    def __len__(self) -> int:
        return self.matrix.shape[0]

    def __getitem__(self, index: Tensor, /) -> SparseBatch:
        found = self._entries.rows(index.cpu().numpy())
        return SparseBatch(found._replace(values=found.values.clip(-HUGE, HUGE).astype(np.float32)))


def scale_like(matrix: Any) -> Standardize:
    """The normalization that divides each column by its largest absolute value, so that zeros stay zeros.

    Entries far beyond all others of their column have no say in it, and are clipped. A column without entries keeps its
    scale.

    Args:
        matrix: CSR matrix, shape (N, D).
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
