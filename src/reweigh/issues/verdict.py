"""What is thought of the given labels, sample by sample and as a whole."""

from collections.abc import Sequence
from typing import NamedTuple

from torch import Tensor


class Verdict(NamedTuple):
    """What is thought of the given label of each sample.

    Attributes:
        suggested: Shape (N,), the class that the label should be.
        quality: Shape (N,), from 0, surely wrong, to 1, surely right; NaN for a sample without a label.
        wrong: Shape (N,) bool, whether the label looks wrong: the suggested class is not the given one.
    """

    suggested: Tensor
    quality: Tensor
    wrong: Tensor

    def replaced(self, index: Tensor, its: "Verdict") -> "Verdict":
        """The verdict with another one, ``its``, on the samples at ``index``."""
        return Verdict(*(all_.index_copy(0, index, some) for all_, some in zip(self, its, strict=True)))


class Finding(NamedTuple):
    """How many labels are wrong, by given class, and what was done about it.

    Attributes:
        share: Estimated share of wrong labels in each class.
        low: What it is at least, as far as the estimates agree.
        high: What it is at most.
        words: One sentence for the user.
    """

    share: Sequence[float]
    low: Sequence[float]
    high: Sequence[float]
    words: str
