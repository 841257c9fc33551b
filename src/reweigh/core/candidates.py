"""Sets of candidate labels: several per sample, one of them right."""

from collections.abc import Iterable
from itertools import pairwise

import torch
from torch import Tensor

MASK_VALUES_AT_ONCE = 10_000_000  # looked at in one go


class CandidateSets:
    """The candidate labels of each sample: a mask of N x num_classes of which only what is true is stored.

    Attributes:
        counts: Number of candidates of each sample, shape (N,).
        classes: Candidates of all samples, one sample after the other, each in ascending order, shape (counts.sum(),).
        num_classes: Number of classes.
    """

    def __init__(self, counts: Tensor, classes: Tensor, num_classes: int) -> None:
        self.counts, self.classes, self.num_classes = counts, classes.int(), num_classes
        self._starts = counts.cumsum(0) - counts

    @classmethod
    def of_mask(cls, mask: Tensor) -> "CandidateSets":
        """From a mask, shape (N, num_classes) bool."""
        return cls.of_masks(mask.split(at_once(mask.shape[1])), mask.shape[1])

    @classmethod
    def of_masks(cls, masks: Iterable[Tensor], num_classes: int) -> "CandidateSets":
        """From the masks of some samples after the other, of which only one need be in memory at a time."""
        parts = [(mask.sum(1), mask.nonzero()[:, 1].int()) for mask in masks]
        counts, classes = (torch.cat(each) for each in zip(*parts, strict=True))
        return cls(counts, classes, num_classes)

    @classmethod
    def of_lists(cls, lists: Iterable[Iterable[int]], num_classes: int) -> "CandidateSets":
        """From the classes of each sample, in any order."""
        sets = [sorted(set(some)) for some in lists]
        counts = torch.tensor([len(some) for some in sets], dtype=torch.int64)
        return cls(counts, torch.tensor([each for some in sets for each in some], dtype=torch.int32), num_classes)

    def __len__(self) -> int:
        return len(self.counts)

    @property
    def shape(self) -> tuple[int, int]:
        return len(self), self.num_classes

    def __getitem__(self, index: Tensor | slice, /) -> Tensor:
        """The rows of the mask at ``index``, shape (n, num_classes) bool."""
        some = self.subset(index)
        rows = torch.arange(len(some)).repeat_interleave(some.counts)
        mask = torch.zeros(some.shape, dtype=torch.bool)
        mask[rows, some.classes.long()] = True
        return mask

    def subset(self, index: Tensor | slice) -> "CandidateSets":
        """The sets of the samples at ``index``: indices, a mask or a slice."""
        counts = self.counts[index]
        skipped = self._starts[index] - (counts.cumsum(0) - counts)
        found = torch.arange(int(counts.sum())) + skipped.repeat_interleave(counts)
        return CandidateSets(counts, self.classes[found], self.num_classes)

    def contain(self, labels: Tensor) -> Tensor:
        """Whether the label of each sample is one of its candidates: shapes (N,)."""
        hits = (self.classes == labels.repeat_interleave(self.counts)).long()
        rows = torch.arange(len(self)).repeat_interleave(self.counts)
        return torch.zeros(len(self), dtype=torch.int64).index_add_(0, rows, hits) > 0

    def tolist(self) -> list[list[int]]:
        classes, ends = self.classes.tolist(), [0, *self.counts.cumsum(0).tolist()]
        return [classes[start:end] for start, end in pairwise(ends)]


def at_once(num_classes: int) -> int:
    """How many rows of a mask to look at in one go."""
    return max(1, MASK_VALUES_AT_ONCE // max(1, num_classes))
