"""Labels as class numbers, whatever they are written as: no quantities, and one class for all spellings of a name."""

import logging
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from reweigh.data.dataset import Dataset, at_rows, class_mistakes, listed, raise_all
from reweigh.data.tables.cells import order_of, read_dates, spelling
from reweigh.data.tables.numbers import Notation, parts, usual_unit, votes
from reweigh.errors import DataError
from reweigh.files.limits import check_labels
from reweigh.names import suggestion

WHOLE = re.compile(r"-?(0|[1-9]\d*)(\.0+)?")
MANY_ROWS = 20  # rows, and classes that nobody would call quantities
MIN_MEAN_CLASS_SIZE = 5  # samples of a class on average; with fewer, they are not classes
TARGET_SHARE = 0.9
OTHER = "name another column as the label"


def encode(
    values: Any, class_names: Sequence[str] | None = None, what: str = "labels", *, unlabeled: bool = False
) -> tuple[Tensor, tuple[str, ...]]:
    """Number the classes.

    Without ``class_names`` the distinct values are the classes, sorted; gaps between numbers are closed, so that no
    class is empty. With ``class_names`` a value is the name of a class or, if not all values are names, its number;
    the check of the whole dataset finds numbers out of range. Where class names are themselves numbers, a string is
    always a name.

    Args:
        values: N numbers, strings or booleans; array, tensor, list or column of a table.
        unlabeled: Whether a label may be missing (-1, an empty string, None, NaN); it becomes -1.

    Returns:
        tuple: Class numbers, shape (N,) int64, and the class names.
    """
    if not unlabeled:
        return _encode(values, class_names, what)
    array = as_array(values).reshape(-1)
    present = known(array)
    if not present.any():
        raise DataError(f"{what}: all {len(array)} are missing; label a few samples of each class")
    values = array[present]
    numeric = [isinstance(value, int | float) and not isinstance(value, bool) for value in values.tolist()]
    if values.dtype == object and all(numeric) and all(float(value).is_integer() for value in values.tolist()):
        values = values.astype(np.int64)  # a column of numbers with gaps holds floats
    numbers, names = _encode(values, class_names, what)
    labels = torch.full((len(array),), -1, dtype=torch.int64)
    labels[torch.from_numpy(present)] = numbers
    return labels, names


def known(values: np.ndarray) -> np.ndarray:
    """Which values are labels, shape (N,) bool; -1 (number or string), an empty string, None and NaN are not."""
    import pandas as pd

    plain = [value.strip() if isinstance(value, str) else value for value in values.tolist()]
    return np.array(
        [not gone and value not in ("", "-1", -1) for value, gone in zip(plain, pd.isna(values), strict=True)]
    )


def as_array(values: Any) -> np.ndarray:
    """The values as NumPy sees them, except for lists of strings, in which it would turn a NaN into "nan"."""
    if isinstance(values, Tensor):
        return values.detach().cpu().numpy()
    if isinstance(values, list) and any(isinstance(value, str) for value in values):
        return np.array(values, dtype=object)
    return np.asarray(values)


def _encode(values: Any, class_names: Sequence[str] | None, what: str) -> tuple[Tensor, tuple[str, ...]]:
    were_numbers = as_array(values).dtype.kind in "biuf"
    values = _plain(values, what)
    distinct, inverse = np.unique(values, return_inverse=True)
    strings = [str(value) for value in distinct]
    if class_names is None:
        return torch.from_numpy(inverse.astype(np.int64)), tuple(strings)
    names = tuple(class_names)
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise DataError(f"class names: {listed(map(repr, twice))} more than once; each class needs its own name")
    unknown = [string for string in strings if string not in names]
    if not unknown:
        numbers = torch.tensor([names.index(string) for string in strings], dtype=torch.int64)
        return numbers[torch.from_numpy(inverse)], names
    if np.issubdtype(values.dtype, np.integer) and (were_numbers or not any(WHOLE.fullmatch(name) for name in names)):
        return torch.from_numpy(values.astype(np.int64)), names
    rows = [row for row, number in enumerate(inverse.tolist()) if strings[number] in unknown]
    raise DataError(
        f"{what}: no class named {listed(map(repr, unknown))} ({at_rows(rows)}); "
        f"there are: {listed(names)}.{suggestion(unknown[0], names)}"
    )


def _plain(values: Any, what: str) -> np.ndarray:
    """The values as one flat array of whole numbers, booleans or strings."""
    array = as_array(values)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        hint = "; take the argmax of one-hot rows" if array.ndim == 2 else ""
        raise DataError(f"{what}: shape {array.shape}; give one label per sample, shape (N,){hint}")
    missing = [row for row, value in enumerate(array.tolist()) if value is None or value != value]  # NaN is not itself
    if missing:
        verb = "is" if len(missing) == 1 else "are"
        raise DataError(
            f"{what}: {len(missing)} of {len(array)} {verb} missing: {at_rows(missing)}; label these rows or drop "
            "them, or use a method that learns from unlabeled samples (data.unlabeled=true, method.name=pseudo-label)"
        )
    if array.dtype.kind in "biu":
        return array
    if array.dtype.kind == "f":
        broken = np.flatnonzero((array != np.floor(array)) | (np.abs(array) > 2**53))
        if len(broken):
            raise DataError(
                f"{what}: {len(broken)} of {len(array)} not whole numbers, such as {array[broken[0]]:g} "
                f"in row {broken[0]}; a classifier needs classes: divide the range into some"
            )
        return array.astype(np.int64)
    strings = [str(value) for value in array.tolist()]
    check_labels(strings, what)  # an array of strings takes the length of the longest for each
    if all(WHOLE.fullmatch(string) for string in strings):  # so that 10 comes after 9; 3.0 is 3, but 007 is a string
        with suppress(OverflowError, ValueError):  # more digits than a number has
            return np.array([int(string.partition(".")[0]) for string in strings], dtype=np.int64)
    return np.array(strings, dtype=str)


def check_target(values: Sequence[Any], label: str, what: str) -> None:
    """Refuse labels that cannot be classes."""
    given = [str(value) for value in values if value is not None]
    distinct = sorted({*given})
    rows, count = len(given), len(distinct)
    if rows < MANY_ROWS or count <= min(MANY_ROWS, rows // 2):
        return
    some = distinct[:: max(1, count // 3)][:3]
    shown = ", ".join(repr(text if len(text) <= 30 else text[:29] + "…") for text in some)
    found = f"{what}: column {label!r} has {count:,} different values in {rows:,} rows, such as {shown}: "
    written = [parts(text) for text in distinct]
    counted = votes([part.body for part in written if part])
    notation = Notation("," if counted[","] > counted["."] else ".", usual_unit(written, [1] * count))
    numbers = notation.read(distinct)
    numbers = numbers[~np.isnan(numbers)]
    if len(numbers) >= TARGET_SHARE * count:
        if (numbers != np.floor(numbers)).any():
            raise DataError(f"{found}a quantity, not classes; divide its range into classes (pandas.cut), or {OTHER}")
        span = numbers.max() - numbers.min() + 1
        if count > 0.5 * rows:
            raise DataError(f"{found}ids or a quantity, not classes; {OTHER}")
        if span > 2 * count and rows / count < MIN_MEAN_CLASS_SIZE:
            raise DataError(f"{found}a quantity, not classes; divide its range into classes (pandas.cut), or {OTHER}")
        return
    order, _ = order_of(distinct, [1] * count)
    if (~np.isnan(read_dates(distinct, order))).mean() >= TARGET_SHARE:
        raise DataError(f"{found}dates, not classes; {OTHER}")
    if len({*map(spelling, distinct)}) > 0.5 * rows:
        raise DataError(f"{found}names or free text, not classes; {OTHER}")


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
    votes = dataset.votes and dataset.votes.among(np.array(class_names), new[:-1])
    names = tuple(class_names)
    found = replace(dataset, labels=new[dataset.labels], true_labels=true, class_names=names, votes=votes)
    if not {*class_names} - {*found.class_names} and found.class_sizes.count_nonzero() < 2:
        raise_all(class_mistakes(found), what)
    return found
