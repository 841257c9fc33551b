"""The result of a bias: the new labels, and exactly which were changed."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from reweigh.errors import DataError


@dataclass(frozen=True, eq=False, repr=False)
class Biased:
    """Labels after a bias, and what it changed.

    Attributes:
        index: Indices of the samples that remain, in order, shape (n,); all of them unless a long tail was cut.
        labels: Labels after the bias, shape (n,).
        flipped: Shape (n,) bool, samples whose label differs from that before any bias, or whose input is to be
            replaced.
        rate: Share of ``flipped`` samples: the actual noise, which is not always the requested rate.
        transition: Shape (C, C), row: label before, column: label after; rows sum to one.
        replaced: Shape (n,) bool, samples whose input is to be replaced by a foreign one (``open-set``); None if there
            are none.
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
    """Compare the labels of the remaining samples with those before."""
    flipped = before != after
    if replaced is not None:
        flipped = flipped | replaced
    counts = torch.bincount(before * num_classes + after, minlength=num_classes**2).view(num_classes, num_classes)
    counts = counts.double() + torch.diag((counts.sum(1) == 0).double())  # an empty class maps to itself
    return Biased(
        index=torch.arange(len(after)) if index is None else index,
        labels=after,
        flipped=flipped,
        rate=float(flipped.double().mean()) if len(after) else 0.0,
        transition=counts / counts.sum(1, keepdim=True),
        replaced=replaced,
    )


def summarize(biased: Biased, class_names: Sequence[str]) -> dict[str, Any]:
    """A bias in numbers, ready for JSON.

    Returns:
        dict: number of samples kept; wrong labels as a count and as a share; number of inputs to be replaced; class
            sizes after the bias; the transition matrix as {before: {after: share}} without shares of 0.
    """
    sizes = torch.bincount(biased.labels, minlength=len(class_names)).tolist()
    return {
        "samples": len(biased.labels),
        "wrong": int(biased.flipped.sum()),
        "rate": biased.rate,
        "replaced": 0 if biased.replaced is None else int(biased.replaced.sum()),
        "class_sizes": dict(zip(class_names, sizes, strict=True)),
        "transition": {
            before: {after: share for after, share in zip(class_names, row, strict=True) if share}
            for before, row in zip(class_names, biased.transition.tolist(), strict=True)
        },
    }


def chosen(num_samples: int, rate: float, generator: np.random.Generator) -> np.ndarray:
    """Exactly ``rate`` of the samples, drawn without replacement; a DataError unless it is in [0, 1]."""
    check_share("rate", rate)
    return generator.permutation(num_samples)[: round(rate * num_samples)]


def check_share(name: str, value: float) -> None:
    """Raise a DataError unless ``value`` is a number in [0, 1]."""
    if not isinstance(value, int | float):
        raise DataError(f"{name}: {value!r} is not a number; give one from 0 to 1")
    if not 0 <= value <= 1:
        hint = f"; did you mean {value / 100:g}?" if 1 < value <= 100 else ""
        raise DataError(f"{name}: {value} is not a share; give a number from 0 to 1{hint}")


def check_labels(labels: Tensor, num_classes: int) -> None:
    """Raise a DataError unless there is one class number below ``num_classes`` per sample."""
    if labels.ndim != 1 or labels.is_floating_point():
        raise DataError(f"labels: shape {tuple(labels.shape)} of {labels.dtype}; a bias needs integers, shape (N,)")
    if len(labels) and not (int(labels.min()) >= 0 and int(labels.max()) < num_classes):
        raise DataError(
            f"labels: from {int(labels.min())} to {int(labels.max())}, but num_classes is {num_classes}; "
            f"give labels from 0 to {num_classes - 1}"
        )


def apply(
    biases: Sequence[Callable[..., Biased]],
    labels: Tensor,
    num_classes: int,
    seed: int | Sequence[int],
    class_names: Sequence[str] | None = None,
    posteriors: Tensor | Callable[[Tensor, Tensor], Tensor] | None = None,
) -> Biased:
    """Apply biases in sequence, each to the result of the one before.

    Args:
        biases: Members of ``BIASES`` with their options bound: ``partial(symmetric, rate=0.4)``.
        labels: Labels to start from, shape (N,).
        seed: One seed, from which each bias gets its own, or one seed per bias.
        class_names: Class names, for a map of names.
        posteriors: Class posteriors for feature-dependent noise, shape (N, C), or a function (index, labels) -> (n, C)
            that is called with the remaining samples and their labels at that point, only if a bias needs it.
    """
    check_labels(labels, num_classes)
    index = torch.arange(len(labels))
    after, replaced = labels, None
    seeds = [stream(seed, number) for number in range(len(biases))] if isinstance(seed, int) else seed
    for bias, its_seed in zip(biases, seeds, strict=True):
        supplied = {}  # what else a bias needs is in its signature
        wanted = inspect.signature(bias).parameters
        if "class_names" in wanted:
            supplied["class_names"] = class_names
        if "posteriors" in wanted and posteriors is not None:
            supplied["posteriors"] = posteriors[index] if isinstance(posteriors, Tensor) else posteriors(index, after)
        step = bias(after, num_classes, its_seed, **supplied)
        index, after = index[step.index], step.labels
        if replaced is not None:
            replaced = replaced[step.index]
        if step.replaced is not None:
            replaced = step.replaced if replaced is None else replaced | step.replaced
    return compare(labels[index], after, num_classes, index, replaced)


def stream(seed: int, number: int) -> int:
    """The seed of the bias with this number: the given one for the first, unrelated ones for the others."""
    return seed if number == 0 else int(np.random.SeedSequence([seed, number]).generate_state(1)[0])
