"""Sparse matrices as inputs, whose batches are sparse too."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from reweigh.core.sparse import Entries, SparseBatch
from reweigh.data.normalize import Standardize

AT_ONCE = 1_000_000  # entries


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
        return SparseBatch(found._replace(values=found.values.astype(np.float32)))


def scale_like(matrix: Any) -> Standardize:
    """The normalization that divides each column by its largest absolute value, so that zeros stay zeros.

    A column without entries keeps its scale.

    Args:
        matrix: CSR matrix, shape (N, D).
    """
    top = np.zeros(matrix.shape[1], dtype=np.float64)
    for start in range(0, len(matrix.data), AT_ONCE):
        some = slice(start, start + AT_ONCE)
        np.maximum.at(top, matrix.indices[some], np.abs(matrix.data[some]))
    return Standardize(torch.zeros(len(top)), torch.from_numpy(np.where(top > 0, top, 1.0)))
