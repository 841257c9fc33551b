"""What is thought of the given labels, sample by sample."""

from typing import NamedTuple

from torch import Tensor


class Judgment(NamedTuple):
    """A verdict on the given label of each sample.

    Attributes:
        suggested: Shape (N,), the class that the label should be.
        quality: Shape (N,), from 0, surely wrong, to 1, surely right; NaN for a sample without a label.
        wrong: Shape (N,) bool, whether the label looks wrong: the suggested class is not the given one.
    """

    suggested: Tensor
    quality: Tensor
    wrong: Tensor
