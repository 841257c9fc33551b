"""An endless random order of samples."""

import torch
from torch import Tensor

from reweigh.methods.parts.stateful import Stateful


class EndlessOrder(Stateful):
    """Indices in random order, over and over: each comes once before any comes again.

    Attributes:
        pool: shape (n,), the indices.

    Args:
        generator: source of the order.
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
