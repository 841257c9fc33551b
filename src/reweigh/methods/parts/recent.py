"""What training steps of the last few epochs predicted for each sample."""

import torch
from torch import Tensor

from reweigh.methods.parts.stateful import Stateful


class RecentPredictions(Stateful):
    """The predictions of the last epochs, taken from the training steps, without another pass over the data.

    They take epochs x N x num_classes numbers of half precision.

    Args:
        samples: Number of training samples, N.
        num_classes: Number of classes.
        epochs: Number of epochs to remember.
    """

    state = ("_rows", "_seen", "_epoch")

    def __init__(self, samples: int, num_classes: int, epochs: int):
        self._rows = torch.zeros(epochs, samples, num_classes, dtype=torch.float16)
        self._seen = torch.zeros(epochs, samples, dtype=torch.bool)
        self._epoch = -1

    def start_epoch(self) -> None:
        """Begin an epoch: the oldest one is forgotten."""
        self._epoch += 1
        self._rows[self._now], self._seen[self._now] = 0, False

    @property
    def _now(self) -> int:
        return self._epoch % len(self._rows)

    def note(self, index: Tensor, rows: Tensor) -> None:
        """Remember what was predicted for some samples: indices, shape (n,), and rows, shape (n, num_classes)."""
        index = index.cpu()
        self._rows[self._now, index] = rows.detach().cpu().half()
        self._seen[self._now, index] = True

    def mean(self) -> tuple[Tensor, Tensor]:
        """The mean prediction of each sample, shape (N, num_classes), and in how many epochs it was seen, shape (N,).

        The row of a sample that was never seen is zero.
        """
        times = self._seen.sum(0)
        total = torch.zeros(self._rows.shape[1:])
        for epoch in self._rows:
            total += epoch
        return total / times.clamp_min(1)[:, None], times
