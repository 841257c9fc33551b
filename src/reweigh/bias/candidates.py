"""Several candidate labels per sample, including the true one: the bias of partial-label learning."""

from typing import Annotated

import numpy as np
import torch
from annotated_types import Ge, Le
from torch import Tensor

from reweigh.bias.biased import check_labels, check_share
from reweigh.errors import DataError


def independent(labels: Tensor, num_classes: int, seed: int, *, q: Annotated[float, Ge(0), Le(1)]) -> Tensor:
    """Each false label becomes a candidate with probability q; a sample without any gets one at random.

    Args:
        labels: shape (N,), the true labels.
        q: probability that a false label is a candidate. Paper: 0.1 to 0.7.

    Returns:
        Tensor: the candidates, two or more per sample, shape (N, C) bool.
    """
    check(labels, num_classes, q)
    generator = np.random.default_rng(seed)
    candidates = torch.from_numpy(generator.random((len(labels), num_classes)) < q)
    candidates.scatter_(1, labels[:, None], False)
    alone = (~candidates.any(1)).nonzero().squeeze(1)
    shift = torch.from_numpy(generator.integers(1, num_classes, size=len(alone)))
    candidates[alone, (labels[alone] + shift) % num_classes] = True
    return candidates.scatter_(1, labels[:, None], True)


def pairs(labels: Tensor, num_classes: int, seed: int, *, q: Annotated[float, Ge(0), Le(1)]) -> Tensor:
    """The next class (the first for the last) becomes a candidate with probability q, and no other class.

    Args:
        labels: shape (N,), the true labels.
        q: share of samples with two candidates.

    Returns:
        Tensor: the candidates, one or two per sample, shape (N, C) bool.
    """
    check(labels, num_classes, q)
    next_too = torch.from_numpy(np.random.default_rng(seed).random(len(labels)) < q)
    candidates = torch.zeros(len(labels), num_classes, dtype=torch.bool)
    candidates.scatter_(1, labels[:, None], True)
    candidates[next_too, (labels[next_too] + 1) % num_classes] = True
    return candidates


def check(labels: Tensor, num_classes: int, q: float) -> None:
    """Raise a DataError unless candidates can be drawn."""
    check_labels(labels, num_classes)
    check_share("q", q)
    if num_classes < 2:
        raise DataError(f"num_classes: {num_classes}; a false candidate needs two classes or more")
