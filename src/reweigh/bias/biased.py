"""What a bias did to the labels: the new ones, and exactly which were changed."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from reweigh.errors import DataError


@dataclass(frozen=True, eq=False, repr=False)
class Biased:
    """Labels after a bias, and the truth about it.

    Attributes:
        index: shape (n,), which of the given samples remain, in order; all of them but for a long tail.
        labels: shape (n,), after the bias.
        flipped: shape (n,) bool, the label is not the one before any bias, or its input is to be replaced.
        rate: share of ``flipped``: the noise there really is, which is not always the rate asked for.
        transition: shape (C, C), row: label before, column: label after; rows sum to one.
        replaced: shape (n,) bool, inputs to be replaced by foreign ones (``open-set``); None if there are none.
    """

    index: Tensor
    labels: Tensor
    flipped: Tensor
    rate: float
    transition: Tensor
    replaced: Tensor | None = None

    def __repr__(self) -> str:
        return f"Biased({len(self.labels)} labels, {self.rate:.1%} wrong)"


def compare(
    before: Tensor, after: Tensor, num_classes: int, index: Tensor | None = None, replaced: Tensor | None = None
) -> Biased:
    """Set the labels of the samples that remain against what they were before.

    Args:
        before: shape (n,), of the samples that remain.
        after: shape (n,).
        index: shape (n,), which samples these are; all of them by default.
    """
    flipped = before != after
    if replaced is not None:
        flipped = flipped | replaced
    return Biased(
        index=torch.arange(len(after)) if index is None else index,
        labels=after,
        flipped=flipped,
        rate=float(flipped.double().mean()) if len(after) else 0.0,
        transition=transition_matrix(before, after, num_classes),
        replaced=replaced,
    )


def transition_matrix(before: Tensor, after: Tensor, num_classes: int) -> Tensor:
    """Share of each class (row) that is now labeled as each class (column); a class without samples stays itself."""
    counts = torch.bincount(before * num_classes + after, minlength=num_classes**2).view(num_classes, num_classes)
    counts = counts.double() + torch.diag((counts.sum(1) == 0).double())
    return counts / counts.sum(1, keepdim=True)


def chosen(num_samples: int, rate: float, generator: np.random.Generator) -> np.ndarray:
    """Exactly ``rate`` of the samples, drawn without replacement.

    Raises:
        DataError: the rate is not a share.
    """
    check_share("rate", rate)
    return generator.permutation(num_samples)[: round(rate * num_samples)]


def check_share(name: str, value: float) -> None:
    """Raise a DataError unless ``value`` is a number in [0, 1]."""
    if not isinstance(value, int | float):
        raise DataError(f"{name}: {value!r} is no number; give one from 0 to 1")
    if not 0 <= value <= 1:
        hint = f"; did you mean {value / 100:g}?" if 1 < value <= 100 else ""
        raise DataError(f"{name}: {value} is not a share; give a number from 0 to 1{hint}")


def check_labels(labels: Tensor, num_classes: int) -> None:
    """Raise a DataError unless ``labels`` are class numbers below ``num_classes``, one a sample."""
    if labels.ndim != 1 or labels.is_floating_point():
        raise DataError(f"labels: shape {tuple(labels.shape)} of {labels.dtype}; a bias needs integers, shape (N,)")
    if len(labels) and not (int(labels.min()) >= 0 and int(labels.max()) < num_classes):
        raise DataError(
            f"labels: from {int(labels.min())} to {int(labels.max())}, but num_classes is {num_classes}; "
            f"allowed are 0 to {num_classes - 1}"
        )
