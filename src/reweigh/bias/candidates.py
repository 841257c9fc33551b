"""Several candidate labels per sample, including the true one: the bias of partial-label learning."""

from typing import Annotated

import numpy as np
import torch
from annotated_types import Ge, Le
from torch import Tensor

from reweigh.bias.biased import check_labels, check_share
from reweigh.core.candidates import CandidateSets, at_once
from reweigh.errors import DataError


def independent(labels: Tensor, num_classes: int, seed: int, *, q: Annotated[float, Ge(0), Le(1)]) -> CandidateSets:
    """Each false label becomes a candidate with probability q; a sample without any gets one at random.

    Examples:
        >>> sets = independent(torch.arange(6) % 3, num_classes=3, seed=0, q=0.3)
        >>> sets[torch.arange(2)]
        tensor([[ True,  True,  True],
                [ True,  True, False]])

    Args:
        labels: Shape (N,), the true labels.
        q: Probability that a false label is a candidate. Paper: 0.1 to 0.7.
    """
    check(labels, num_classes, q)
    generator = np.random.default_rng(seed)

    def drawn(some: Tensor) -> Tensor:
        return torch.from_numpy(generator.random((len(some), num_classes)) < q).scatter_(1, some[:, None], True)

    sets = CandidateSets.of_masks(map(drawn, labels.split(at_once(num_classes))), num_classes)
    alone = sets.counts == 1
    own = labels[alone]
    other = (own + torch.from_numpy(generator.integers(1, num_classes, size=len(own)))) % num_classes
    counts = sets.counts + alone
    added, classes = alone.repeat_interleave(counts), torch.empty(int(counts.sum()), dtype=torch.int32)
    classes[added] = torch.stack([own, other], 1).sort(1).values.flatten().int()
    classes[~added] = sets.classes[~alone.repeat_interleave(sets.counts)]
    return CandidateSets(counts, classes, num_classes)


def pairs(labels: Tensor, num_classes: int, seed: int, *, q: Annotated[float, Ge(0), Le(1)]) -> CandidateSets:
    """The next class (the first for the last) becomes a candidate with probability q, and no other class.

    Examples:
        >>> pairs(torch.arange(6) % 3, num_classes=3, seed=0, q=0.5).counts
        tensor([1, 2, 2, 2, 1, 1])

    Args:
        labels: Shape (N,), the true labels.
        q: Share of samples with two candidates.
    """
    check(labels, num_classes, q)
    next_too = torch.from_numpy(np.random.default_rng(seed).random(len(labels)) < q)
    both = torch.stack([labels, (labels + 1) % num_classes], 1).sort(1).values
    candidates = next_too[:, None] | (both == labels[:, None])
    return CandidateSets(candidates.sum(1), both[candidates], num_classes)


def check(labels: Tensor, num_classes: int, q: float) -> None:
    """Raise a DataError unless candidates can be drawn."""
    check_labels(labels, num_classes)
    check_share("q", q)
    if num_classes < 2:
        raise DataError(f"num_classes: {num_classes}; a false candidate needs two classes or more")
