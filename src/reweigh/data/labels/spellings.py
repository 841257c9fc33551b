"""Class names that are likely one class, written in several ways."""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import replace

import torch

from reweigh.data.checks import class_mistakes, listed, raise_all
from reweigh.data.dataset import Dataset
from reweigh.data.tables.cells import spelling
from reweigh.errors import DataError
from reweigh.names import suggestion

log = logging.getLogger(__name__)
JOIN = "--join-labels (data.join_labels=true) joins them"
MAX_TYPO_SIZE = 9  # samples of a class that may be a typing mistake
MAX_TYPOS = 100  # more rare classes are a long tail
MIN_TIMES = 20  # times as many has the class that was meant
MIN_LETTERS = 4  # of the longer name; cat and car are two classes


def spellings(dataset: Dataset) -> list[list[str]]:
    """Groups of classes that are likely one, the largest first.

    Their names differ only in case, spaces or punctuation at the ends; or a name with hardly any samples differs in one
    letter from one with many.
    """
    groups: dict[str, list[int]] = {}
    for number, name in enumerate(dataset.class_names):
        groups.setdefault(spelling(name), []).append(number)
    sizes = dataset.class_sizes.tolist()
    total = {key: sum(sizes[number] for number in group) for key, group in groups.items()}
    large = {key: size for key, size in total.items() if size >= MIN_TIMES}
    rare = [key for key, size in total.items() if size <= MAX_TYPO_SIZE]
    for key in rare if len(rare) <= MAX_TYPOS else ():
        meant = [other for other in one_letter_from(key, large) if large[other] >= MIN_TIMES * total[key]]
        if len(meant) == 1:
            groups[meant[0]] += groups.pop(key)
    several = [sorted(group, key=lambda number: -sizes[number]) for group in groups.values() if len(group) > 1]
    return [[dataset.class_names[number] for number in group] for group in several]


def one_letter_from(word: str, words: Iterable[str]) -> list[str]:
    """Those of ``words`` from which ``word`` differs in one letter: another one, one more, one less, or two swapped.

    >>> one_letter_from("unac", ["unacc", "acc", "una1", "unca"])
    ['unacc', 'unca']
    """
    return [other for other in words if max(len(word), len(other)) >= MIN_LETTERS and _one_letter_apart(word, other)]


def _one_letter_apart(first: str, second: str) -> bool:
    if abs(len(first) - len(second)) > 1 or first == second:
        return False
    same = 0
    while first[same : same + 1] == second[same : same + 1]:
        same += 1
    short, long = sorted((first[same:], second[same:]), key=len)
    if len(short) < len(long):
        changed, alike = long[0], short == long[1:]
    else:
        changed = short[0] + long[0]
        alike = short[1:] == long[1:] or (short[:2] == long[1::-1] and short[2:] == long[2:])
    return alike and changed.isalpha()  # class 1 and class 2 are two classes


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
    first = {name: group[0] for group in spellings(dataset) for name in group} if class_names is None else {}
    if class_names is None:
        class_names = sorted({first.get(name, name) for name in dataset.class_names}, key=spelling)
    index = {spelling(name): number for number, name in enumerate(class_names)}
    for key, name in [(spelling(name), name) for name in dataset.class_names if spelling(name) not in index]:
        meant = [spelling(first[name])] if name in first else one_letter_from(key, index)
        if len(meant) == 1:
            index[key] = index[meant[0]]
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
