"""Batches of trusted samples for a loop that is not ours."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from reweigh.errors import DataError
from reweigh.meta_sets import LowestLoss


class TrustedBatches:
    """Batches drawn at random: from samples whose labels were checked, or from the easiest samples of each class.

    Args:
        checked: Checked samples, as the rows of a dataset; None: the easiest of the training set, see ``choose``.
        train_set: The training set.
        labels: Shape (N,), its given labels.
        collate: Rows -> batch.
        batch_size: Number of rows in a batch, or all of them if there are fewer.
        seed: Seed of the draws.
    """

    def __init__(
        self,
        checked: Any,
        train_set: Any,
        labels: Tensor,
        collate: Callable[[list[Any]], Any],
        batch_size: int,
        seed: int,
    ):
        if checked is not None and len(checked) == 0:
            raise DataError("trusted: no samples; pass some whose labels were checked, or None for the easiest ones")
        self._rows, self._index = (train_set, None) if checked is None else (checked, torch.arange(len(checked)))
        self._labels, self._collate, self._batch_size = labels, collate, batch_size
        self._generator = torch.Generator().manual_seed(seed)
        self._chooses = checked is None

    def choose(self, losses: Tensor) -> None:
        """At the start of an epoch: trust the ten easiest samples of each class, unless checked ones were given."""
        if self._chooses:
            self._index = LowestLoss(per_class=10).choose(self._labels, losses, self._generator)

    def __call__(self) -> Any:
        assert self._index is not None
        drawn: Sequence[int] = self._index[torch.randperm(len(self._index), generator=self._generator)].tolist()
        return self._collate([self._rows[each] for each in drawn[: self._batch_size]])
