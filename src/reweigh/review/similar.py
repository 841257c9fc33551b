"""The samples of a class that are most like another sample, where samples are rows of numbers."""

from functools import cached_property

import numpy as np
from torch import Tensor

from reweigh.data import Dataset

MOST = 3
ROWS_IN_MEMORY = 2e9  # bytes; of larger data no neighbors are shown


class Similar:
    """Finds neighbors by the cosine of standardized features.

    Args:
        dataset: None, color images and data too large have no neighbors.
    """

    def __init__(self, dataset: Dataset | None):
        self._dataset = dataset

    @cached_property
    def _rows(self) -> np.ndarray | None:
        inputs = None if self._dataset is None else self._dataset.inputs
        if not isinstance(inputs, Tensor) or inputs.numel() * 4 > ROWS_IN_MEMORY:
            return None
        if inputs.dim() != 2 and inputs.shape[1] != 1:  # pixels of color photos say little about what they show
            return None
        rows = inputs.flatten(1).numpy().astype(np.float32)
        rows = (rows - rows.mean(0)) / np.maximum(rows.std(0), 1e-6)
        return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-6)

    def of(self, index: int, among: np.ndarray) -> list[int]:
        """Indices of the nearest samples, the nearest first.

        Args:
            among: Which samples count, shape (N,) bool.
        """
        if self._rows is None:
            return []
        others = np.flatnonzero(among)
        others = others[others != index]
        likeness = self._rows[others] @ self._rows[index] if len(others) < len(among) / 2 else (
            self._rows @ self._rows[index]
        )[others]  # fmt: skip
        return others[np.argsort(-likeness, kind="stable")[:MOST]].tolist()
