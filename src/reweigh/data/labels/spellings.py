"""Class names that are likely one class, written in several ways."""

import logging
from collections.abc import Sequence
from dataclasses import replace

import torch

from reweigh.data.checks import class_mistakes, listed, raise_all
from reweigh.data.dataset import Dataset
from reweigh.data.tables.cells import spelling
from reweigh.errors import DataError
from reweigh.names import suggestion

log = logging.getLogger(__name__)
JOIN = "--join-labels (data.join_labels=true) joins them"


def spellings(dataset: Dataset) -> list[list[str]]:
    """Groups of classes whose names differ only in case, spaces or punctuation at the ends; the largest class first."""
    groups: dict[str, list[int]] = {}
    for number, name in enumerate(dataset.class_names):
        groups.setdefault(spelling(name), []).append(number)
    sizes = dataset.class_sizes.tolist()
    several = [sorted(group, key=lambda number: -sizes[number]) for group in groups.values() if len(group) > 1]
    return [[dataset.class_names[number] for number in group] for group in several]


def warn_of_spellings(dataset: Dataset, what: str, remedy: str = JOIN) -> None:
    """Log a warning if some classes are likely one."""
    if found := spellings(dataset):
        log.warning("%s: %s", what, in_words(found, remedy))


def in_words(groups: Sequence[Sequence[str]], remedy: str = JOIN) -> str:
    """Which classes are likely one, and what to do."""
    shown = listed(" = ".join(map(repr, group[:3])) for group in groups)
    return f"labels that are probably spellings of one class: {shown}; {remedy}"


def joined(dataset: Dataset, class_names: Sequence[str] | None, what: str) -> Dataset:
    """The dataset with one class for all spellings of a name: the most frequent one, or that of ``class_names``."""
    if class_names is None:
        first = {name: group[0] for group in spellings(dataset) for name in group}
        class_names = sorted({first.get(name, name) for name in dataset.class_names}, key=spelling)
    index = {spelling(name): number for number, name in enumerate(class_names)}
    if unknown := [name for name in dataset.class_names if spelling(name) not in index]:
        raise DataError(
            f"{what}: no class named {listed(map(repr, unknown))}; there are: {listed(class_names)}."
            f"{suggestion(unknown[0], class_names)}"
        )
    new = torch.tensor([*(index[spelling(name)] for name in dataset.class_names), -1])  # -1: no label
    true = None if dataset.true_labels is None else new[dataset.true_labels]
    found = replace(dataset, labels=new[dataset.labels], true_labels=true, class_names=tuple(class_names))
    if not {*class_names} - {*found.class_names} and found.class_sizes.count_nonzero() < 2:
        raise_all(class_mistakes(found), what)
    return found
