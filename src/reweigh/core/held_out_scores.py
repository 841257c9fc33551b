"""How well given labels are predicted that were not seen, epoch by epoch."""

import torch
from torch import Tensor


class HeldOutScores:
    """Class-balanced accuracy on held-out given labels, epoch by epoch, and whether a difference is more than chance.

    The labels may be wrong: that lowers the scores of all epochs alike, unless a network has learned to repeat wrong
    labels, which held-out samples do not reward. Scores are means over three epochs.

    Attributes:
        right: shape (epochs, n) bool, which samples each epoch got right.

    Args:
        labels: shape (n,), the given labels of the held-out samples.
    """

    def __init__(self, labels: Tensor):
        self._labels = labels
        weights = 1 / torch.bincount(labels, minlength=1).clamp_min(1)[labels].double()
        self._weights = weights / weights.sum()
        self.right = torch.empty(0, len(labels), dtype=torch.bool)

    def add(self, predicted: Tensor) -> None:
        """Take an epoch into account: the class that was predicted for each sample, shape (n,)."""
        self.right = torch.cat([self.right, (predicted == self._labels)[None]])

    def around(self, epoch: int) -> Tensor:
        """How often each sample was right in an epoch and its neighbors: shape (n,), from 0 to 1."""
        return self.right[max(0, epoch - 1) : epoch + 2].double().mean(0)

    def scores(self) -> Tensor:
        """The balanced accuracy around each epoch, shape (epochs,)."""
        return torch.stack([self.around(epoch) @ self._weights for epoch in range(len(self.right))])

    def best(self, epochs: int, first: int = 0) -> int:
        """The epoch with the highest score among the first ``epochs``, from ``first`` on if there are so many."""
        first = min(first, epochs - 1)
        return first + int(self.scores()[first:epochs].argmax())

    def latest_of_the_best(self, epochs: int, first: int, slack: float) -> int:
        """The latest epoch that is about as good as the best; few held-out samples often see the best too early.

        Args:
            epochs, first: see ``best``.
            slack: standard errors by which it may be behind.
        """
        best = self.best(epochs, first)
        for epoch in range(epochs - 1, best, -1):
            behind, error = self.compare(self.around(best), self.around(epoch))
            if behind < slack * error:
                return epoch
        return best

    def balanced(self, epoch: int) -> tuple[float, float]:
        """The balanced accuracy of an epoch alone, and its standard error."""
        right = self.right[epoch].double()
        return self.compare(right, right.new_zeros(len(right)))

    def compare(self, one: Tensor, other: Tensor) -> tuple[float, float]:
        """The class-balanced difference between two results of ``around``, and its standard error.

            d = sum of w_i (one_i - other_i),        se^2 = sum of w_i^2 (one_i - other_i - d)^2

        Compared sample by sample, so what is hard for both does not count as chance.
        """
        difference = one - other
        mean = difference @ self._weights
        return float(mean), float((self._weights * (difference - mean)).norm())
