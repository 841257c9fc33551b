"""Samples with several labels, one of which is right: partial labels."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import Tensor

from reweigh.core.candidate_sets import CandidateSets
from reweigh.data.checks import at_rows, listed, plural
from reweigh.data.dataset import Dataset
from reweigh.errors import DataError

OTHER_SEPARATORS = (";", ",", "/", "+", "&", " and ")
SEPARATOR = "|"  # between candidate labels, by default


def with_candidates(dataset: Dataset, candidates: CandidateSets) -> Dataset:
    """The same inputs with a set of candidate labels each; the old labels become the true ones, unless known before."""
    return replace(dataset.with_labels(one_of_each(candidates)), candidates=candidates)


def one_of_each(candidates: CandidateSets) -> Tensor:
    """One candidate per sample, the (row mod count)-th, so that class sizes are about in proportion to the candidates.

    Args:
        candidates: One or more of each sample; none gives class 0, which the check of a dataset rejects.

    Returns:
        Shape (N,) int64.
    """
    counts = candidates.counts
    turn = counts.cumsum(0) - counts + torch.arange(len(counts)) % counts.clamp_min(1)
    return torch.where(counts > 0, F.pad(candidates.classes, (0, 1))[turn].long(), 0)


def several_in_one(class_names: Sequence[str]) -> tuple[str, str] | None:
    """A class name that looks like a set of candidates, such as ``cat|lynx`` next to ``cat``, and the separator.

    Separators other than ``|`` also occur in ordinary names, so all parts must then be classes themselves.
    """
    plain = {name.strip() for name in class_names}
    for separator in (SEPARATOR, *OTHER_SEPARATORS):
        sets = {name: [part.strip() for part in name.split(separator)] for name in class_names if separator in name}
        parts = Counter(part for name in class_names for part in {part.strip() for part in name.split(separator)})
        for name, names in sets.items():
            if any(parts[part] > 1 for part in names) if separator == SEPARATOR else {*names} <= plain:
                return name, separator
    return None


def split_names(dataset: Dataset, separator: str, classes: Sequence[str] | None = None) -> Dataset:
    """Split labels that were read as one class, such as ``cat|dog``, into candidates.

    Args:
        dataset: Dataset with a class for each set of labels that occurs.
        separator: String between two labels.
        classes: Classes that labels may name; by default all that occur, sorted.
    """
    if len(missing := (dataset.labels < 0).nonzero().flatten()):
        raise DataError(
            f"labels: missing in {plural(len(missing), 'sample')}: {at_rows(missing.tolist())}; "
            f"next to candidate labels, name all possible classes (A{separator}B{separator}C) or drop the rows"
        )
    sets = [[name.strip() for name in names.split(separator)] for names in dataset.class_names]
    if broken := [names for names, found in zip(dataset.class_names, sets, strict=True) if not all(found)]:
        raise DataError(f"labels: {broken[0]!r} has an empty name next to {separator!r}; write A{separator}B")
    present = {name for names in sets for name in names}
    classes = tuple(sorted(present) if classes is None else classes)
    if strange := sorted(present - {*classes}):
        raise DataError(f"labels: no class named {listed(map(repr, strange))}; there are: {listed(classes)}")
    number = {name: place for place, name in enumerate(classes)}
    distinct = CandidateSets.of_lists(([number[name] for name in names] for names in sets), len(classes))
    found = distinct.subset(dataset.labels)
    return replace(dataset, labels=one_of_each(found), class_names=classes, true_labels=None, candidates=found)
