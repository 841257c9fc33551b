"""Samples with several labels, one of which is right: partial labels."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from reweigh.data.checks import listed
from reweigh.data.dataset import Dataset
from reweigh.errors import DataError

SEPARATOR = "|"  # between candidate labels, unless the user says otherwise


def with_candidates(dataset: Dataset, candidates: Tensor) -> Dataset:
    """The same inputs with a set of labels each; the labels before stay as the true ones, unless those were known.

    Args:
        candidates: shape (N, num_classes) bool.
    """
    return replace(dataset.with_labels(one_of_each(candidates)), candidates=candidates)


def one_of_each(candidates: Tensor) -> Tensor:
    """One candidate of each sample, the (row mod count)-th, so that classes come out about as even as the candidates.

    Args:
        candidates: shape (N, num_classes) bool; a row without any gives class 0, which the check of a dataset refuses.

    Returns:
        Shape (N,) int64.
    """
    turn = torch.arange(len(candidates)) % candidates.sum(1).clamp_min(1)
    # the place where the running count of candidates first exceeds the turn
    return (candidates.cumsum(1) > turn[:, None]).int().argmax(1)


def several_in_one(class_names: Sequence[str]) -> str | None:
    """A class name that looks like a set of candidates, such as ``cat|lynx`` beside ``cat``; None if there is none."""
    parts = Counter(part for name in class_names for part in set(name.split(SEPARATOR)))
    return next(
        (name for name in class_names if SEPARATOR in name and any(parts[p] > 1 for p in name.split(SEPARATOR))), None
    )


def split_names(dataset: Dataset, separator: str, classes: Sequence[str] | None = None) -> Dataset:
    """Labels that were read as one, such as ``cat|dog``, become the candidates that they name.

    Args:
        dataset: with a class for each set of labels that occurs.
        separator: what stands between two labels.
        classes: that labels may name; all that occur, sorted, by default.

    Raises:
        DataError: nothing stands at one side of a separator, a sample has no label, or one is no class.
    """
    if len(missing := (dataset.labels < 0).nonzero().flatten()):
        raise DataError(
            f"labels: {len(missing)} samples have none: rows {listed(missing.tolist())}; where others have candidates, "
            f"name all classes that are possible (A{separator}B{separator}C) or drop the rows"
        )
    sets = [[name.strip() for name in names.split(separator)] for names in dataset.class_names]
    if broken := [names for names, found in zip(dataset.class_names, sets, strict=True) if not all(found)]:
        raise DataError(f"labels: {broken[0]!r} names nothing at one side of {separator!r}; write A{separator}B")
    there = {name for names in sets for name in names}
    classes = tuple(sorted(there) if classes is None else classes)
    if strange := sorted(there - {*classes}):
        raise DataError(f"labels: no class named {listed(map(repr, strange))}; there are: {listed(classes)}")
    allowed = torch.tensor([[name in names for name in classes] for names in sets])
    mask = allowed[dataset.labels]
    return replace(dataset, labels=one_of_each(mask), class_names=classes, true_labels=None, candidates=mask)
