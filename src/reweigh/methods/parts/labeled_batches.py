"""An endless random order of samples, and batches of the labeled ones where most samples have no label."""

from typing import Any

import torch
from torch import Tensor

from reweigh.core.batch import Batch
from reweigh.core.objective import Forward
from reweigh.errors import DataError
from reweigh.methods.parts.stateful import Stateful
from reweigh.methods.setup import Setup


class LabeledBatches:
    """Endless batches, augmented as training batches are; each sample comes once before any comes again.

    Args:
        size: Number of samples in a batch. If fewer samples are labeled, a batch has them several times, in several
            views.

    Raises:
        DataError: No sample has a label.
    """

    def __init__(self, setup: Setup, size: int):
        self._setup = setup
        self._size = size
        self._order = EndlessOrder(setup.train_set.labeled.nonzero().squeeze(1), setup.generator)
        if len(self._order.pool) == 0:
            raise DataError("no sample has a label, all are -1; label a few of each class")

    def next(self) -> Batch:
        """The next batch, on the model's device."""
        return self._setup.new_batch(self._order.next(self._size))

    def state_dict(self) -> dict[str, Any]:
        return self._order.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._order.load_state_dict(state)


def together(forward: Forward, labeled: Batch, inputs: Tensor) -> tuple[Tensor, Tensor]:
    """Logits of the labeled batch and of other inputs, in one pass: BatchNorm sees them as one batch."""
    logits = forward(torch.cat([labeled.inputs, inputs]))
    return logits[: len(labeled)], logits[len(labeled) :]


class EndlessOrder(Stateful):
    """Indices in random order, over and over: each comes once before any comes again.

    Attributes:
        pool: Shape (n,), the indices.

    Args:
        generator: Source of randomness for the order.
    """

    state = ("pool", "_left")

    def __init__(self, pool: Tensor, generator: torch.Generator):
        self._generator = generator
        self.restart(pool)

    def restart(self, pool: Tensor) -> None:
        """Go on with other indices, and begin a new order."""
        self.pool = pool
        self._left = pool[:0]

    def next(self, size: int) -> Tensor:
        """The next ``size`` indices; more than there are come several times."""
        while len(self._left) < size:
            again = self.pool[torch.randperm(len(self.pool), generator=self._generator)]
            self._left = torch.cat([self._left, again])
        now, self._left = self._left[:size], self._left[size:]
        return now
