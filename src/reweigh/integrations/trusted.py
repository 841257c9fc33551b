"""Batches of trusted samples for a loop that is not ours."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from reweigh.errors import DataError
from reweigh.meta_sets import LowestLoss


class TrustedBatches:
    """Batches drawn at random: from samples whose labels were checked, or from the easiest samples of each class.

    Examples:
        >>> rows = [{"x": torch.rand(3), "label": 0}, {"x": torch.rand(3), "label": 1}]
        >>> batches = TrustedBatches(rows, None, torch.tensor([0, 1]), list, batch_size=1)
        >>> len(batches())
        1

    Args:
        checked: Checked samples, as the rows of a dataset; None: the easiest of the training set, see ``choose``.
        train_set: The training set.
        labels: Shape (N,), its given labels.
        collate: Rows -> batch.
        batch_size: Number of rows in a batch, or all of them if there are fewer.
        per_class: How many of each class are trusted if none were checked.
        seed: Seed of the draws.
    """

    def __init__(
        self,
        checked: Any,
        train_set: Any,
        labels: Tensor,
        collate: Callable[[list[Any]], Any],
        batch_size: int,
        per_class: int = 10,
        seed: int = 0,
    ):
        if checked is not None and len(checked) == 0:
            raise DataError("trusted: no samples; pass some whose labels were checked, or None for the easiest ones")
        self._rows, self._index = (train_set, None) if checked is None else (checked, torch.arange(len(checked)))
        self._labels, self._rule = labels, LowestLoss(per_class=per_class)
        self._collate, self._batch_size = collate, batch_size
        self._generator = torch.Generator().manual_seed(seed)
        self._chooses = checked is None

    def choose(self, losses: Tensor) -> None:
        """At the start of an epoch: trust the easiest samples of each class, unless checked ones were given.

        Args:
            losses: Shape (N,), what is known of the losses of the training set; NaN where nothing is.
        """
        if self._chooses:
            self._index = self._rule.choose(self._labels, losses, self._generator)

    def __call__(self) -> Any:
        """A batch."""
        assert self._index is not None
        drawn: Sequence[int] = self._index[torch.randperm(len(self._index), generator=self._generator)].tolist()
        return self._collate([self._rows[each] for each in drawn[: self._batch_size]])
