"""Which samples of a data set are like each other: neighbors, an order, and a plane."""

from contextlib import suppress
from functools import cached_property
from threading import Lock, Thread
from typing import Any

import numpy as np
import torch
from torch import Tensor

from reweigh.data import Dataset
from reweigh.data.inputs import Fetched, Inputs, Rows, SparseRows
from reweigh.data.on_demand import fits
from reweigh.errors import ReweighError
from reweigh.features import Network
from reweigh.features.extract import stored
from reweigh.features.plane import Plane, plane, standardized
from reweigh.fit.front import Front, open_front
from reweigh.plan import Plan

MOST = 3
CHAIN_LENGTH = 1500  # samples whose likeness to each other is computed at once
ROWS_IN_MEMORY = 2e9  # bytes; of larger data no neighbors are shown


class Similar:
    """Finds neighbors by the cosine of standardized features; of sparse rows, such as words of a text, as they are.

    Args:
        dataset: None, data too large, and color images without a network have no neighbors.
        front: The frozen network of the run, whose features of images are stored.
    """

    def __init__(self, dataset: Dataset | None, front: Front | None = None):
        self.dataset, self._front = dataset, front
        self._lock = Lock()
        self._thread: Thread | None = None

    def known_within(self, seconds: float) -> bool:
        """Whether all samples can be compared by then; what reads their features goes on in the background."""
        if self._thread is None:
            self._thread = Thread(target=self._prepare, daemon=True)
            self._thread.start()
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _prepare(self) -> None:
        with suppress(Exception):  # whoever needs the rows meets it again
            _ = self._rows

    @property
    def _rows(self) -> Any:
        with self._lock:
            return self._found_rows

    @cached_property
    def _found_rows(self) -> Any:
        """Rows of length 1, shape (N, D), an array or a sparse matrix; zeros where nothing is known."""
        if self.dataset is None:
            return None
        matrix = _sparse(self.dataset.inputs)
        if matrix is not None:
            from sklearn.preprocessing import normalize

            return normalize(matrix)
        features = self._features(self.dataset)
        if features is None:
            return None
        rows = standardized(features.flatten(1).numpy())
        return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-6)

    def _features(self, dataset: Dataset) -> Tensor | None:
        inputs = dataset.inputs
        if self._front is not None and self._front.cache and isinstance(self._front.network, Network):
            network = self._front.network
            if not fits(len(inputs), (network.width,), torch.float32, ROWS_IN_MEMORY / 1e9):
                return None
            rows = stored(inputs, network)
            if bool(rows.isnan().all()) and isinstance(inputs, Fetched) and _small(dataset):
                rows = stored(_all(inputs), network)  # by pixels, if the run had them in memory
            return None if bool(rows.isnan().all()) else rows
        gray = dataset.is_images and dataset.shape[0] == 1  # pixels of color photos say little about what they show
        rows = isinstance(inputs, Tensor) and inputs.dim() == 2
        return _all(inputs) if (gray or rows) and _small(dataset) else None

    @cached_property
    def plane(self) -> Plane | None:
        """All samples as points of a plane; None if nothing is known about them."""
        return None if self._rows is None else plane(self._rows)

    def of(self, index: int, among: np.ndarray) -> list[int]:
        """Indices of the nearest samples, the nearest first.

        Args:
            among: Which samples count, shape (N,) bool.
        """
        if self._rows is None:
            return []
        others = np.flatnonzero(among)
        others = others[others != index]
        own = self._rows[[index]].T
        likeness = self._rows[others] @ own if len(others) < len(among) / 2 else (self._rows @ own)[others]
        likeness = np.asarray(likeness.todense() if hasattr(likeness, "todense") else likeness).ravel()
        known = likeness != 0  # without a common word, or a feature, nothing can be said
        others, likeness = others[known], likeness[known]
        return others[np.argsort(-likeness, kind="stable")[:MOST]].tolist()

    def chained(self, index: np.ndarray) -> np.ndarray:
        """The same samples, each followed by the one left that is most like it; as they are if nothing is known.

        Args:
            index: Indices of samples, the one to begin with first.
        """
        if self._rows is None or len(index) < 3:
            return index
        rows = self._rows[index]
        if len(index) > CHAIN_LENGTH:  # in pieces along the main direction of the samples
            along = np.random.default_rng(0).standard_normal(rows.shape[1]).astype(np.float32)
            for _ in range(10):  # power iteration
                along = rows.T @ (rows @ along)
                along /= max(float(np.linalg.norm(along)), 1e-12)
            order = np.argsort(rows @ along, kind="stable")
            pieces = np.array_split(index[order], -(-len(index) // CHAIN_LENGTH))
            return np.concatenate([self.chained(piece) for piece in pieces])
        likeness = rows @ rows.T
        likeness = np.asarray(likeness.todense() if hasattr(likeness, "todense") else likeness)
        chain, left = [0], np.zeros(len(index), np.float32)
        for _ in range(len(index) - 1):
            left[chain[-1]] = -np.inf
            chain.append(int(np.argmax(likeness[chain[-1]] + left)))
        return index[chain]


def similar_of(plan: Plan, dataset: Dataset | None) -> Similar:
    """That of a run, with its frozen network, but for one that would run code from outside the package."""
    if dataset is None:
        return Similar(None)
    try:
        return Similar(dataset, open_front(plan.features, dataset.shape))
    except ReweighError:
        return Similar(dataset)


def _small(dataset: Dataset) -> bool:
    """Whether all samples fit in memory, as features."""
    return fits(len(dataset), dataset.shape, torch.float32, ROWS_IN_MEMORY / 1e9)


def _all(inputs: Inputs) -> Tensor:
    """All samples; those that are read on demand are read now."""
    return inputs if isinstance(inputs, Tensor) else inputs[torch.arange(len(inputs))]


def _sparse(inputs: Inputs) -> Any:
    """The matrix of sparse rows, or of some of them; None if they are not sparse."""
    if isinstance(inputs, SparseRows):
        return inputs.matrix
    if not isinstance(inputs, Rows):
        return None
    whole = _sparse(inputs.inputs)
    return None if whole is None else whole[inputs.index.numpy()]
