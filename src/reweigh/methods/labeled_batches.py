"""Batches of the labeled samples, for a training set most of whose samples have no label."""

from typing import Any

import torch

from reweigh.core.batch import Batch
from reweigh.errors import DataError
from reweigh.methods.setup import Setup


class LabeledBatches:
    """Endless batches, augmented as training batches are; each sample comes once before any comes again.

    Args:
        size: of a batch. Fewer labeled samples than that come several times in it, in several views.

    Raises:
        DataError: no sample has a label.
    """

    def __init__(self, setup: Setup, size: int):
        self._setup = setup
        self._size = size
        self._places = setup.train_set.labeled.nonzero().squeeze(1)
        self._order = self._places[:0]
        if len(self._places) == 0:
            raise DataError("no sample has a label, all are -1; label a few of each class")

    def next(self) -> Batch:
        """The next batch, on the model's device."""
        setup = self._setup
        while len(self._order) < self._size:
            again = self._places[torch.randperm(len(self._places), generator=setup.generator)]
            self._order = torch.cat([self._order, again])
        now, self._order = self._order[: self._size], self._order[self._size :]
        return setup.train_set.batch(now, setup.augment, setup.generator, setup.device)

    def state_dict(self) -> dict[str, Any]:
        return {"order": self._order}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._order = state["order"]
