"""Labels as users have them (numbers, names, with gaps) to class numbers 0, 1, ... and class names."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from reweigh.data.checks import listed
from reweigh.errors import DataError
from reweigh.names import suggestion

WHOLE = re.compile(r"-?(0|[1-9]\d*)(\.0+)?")


def encode(
    values: Any, class_names: Sequence[str] | None = None, what: str = "labels"
) -> tuple[Tensor, tuple[str, ...]]:
    """Number the classes.

    Without ``class_names`` the distinct values are the classes, in their order; numbers with gaps are closed up, so
    that no class is empty. With ``class_names`` a value is the name of a class or, if the values are not all names, its
    number; whether such a number is in range is for the check of the whole dataset to say. A text is no such number
    where classes are themselves called by numbers.

    Args:
        values: N numbers, texts or truth values; array, tensor, list or column of a table.
        what: how the message calls them.

    Returns:
        tuple: class numbers, shape (N,) int64, and the class names.

    Raises:
        DataError: values are missing, not whole, or no class at all; with their rows.
    """
    numbers = as_array(values).dtype.kind in "biuf"  # not texts
    values = plain(values, what)
    distinct, inverse = np.unique(values, return_inverse=True)
    texts = [str(value) for value in distinct]
    if class_names is None:
        return torch.from_numpy(inverse.astype(np.int64)), tuple(texts)
    names = tuple(class_names)
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise DataError(f"class names: {listed(map(repr, twice))} more than once; each class needs a name of its own")
    unknown = [text for text in texts if text not in names]
    if not unknown:
        return torch.tensor([names.index(text) for text in texts], dtype=torch.int64)[torch.from_numpy(inverse)], names
    if np.issubdtype(values.dtype, np.integer) and (numbers or not any(WHOLE.fullmatch(name) for name in names)):
        return torch.from_numpy(values.astype(np.int64)), names
    rows = [row for row, place in enumerate(inverse.tolist()) if texts[place] in unknown]
    raise DataError(
        f"{what}: no class named {listed(map(repr, unknown))} (rows {listed(rows)}); "
        f"there are: {listed(names)}.{suggestion(unknown[0], names)}"
    )


def encode_known(
    values: Any, class_names: Sequence[str] | None = None, what: str = "labels"
) -> tuple[Tensor, tuple[str, ...]]:
    """Number the classes as ``encode`` does; -1 where a sample has no label.

    Raises:
        DataError: all labels are missing, or one is not a class.
    """
    array = as_array(values).reshape(-1)
    there = known(array)
    if not there.any():
        raise DataError(f"{what}: all {len(array)} are missing; label a few samples of each class")
    found = array[there]
    if found.dtype == object:  # a column of numbers with gaps holds floats
        whole = all(
            isinstance(value, int | float) and not isinstance(value, bool) and float(value).is_integer()
            for value in found.tolist()
        )
        found = found.astype(np.int64) if whole else found
    numbers, names = encode(found, class_names, what)
    labels = torch.full((len(array),), -1, dtype=torch.int64)
    labels[torch.from_numpy(there)] = numbers
    return labels, names


def known(values: np.ndarray) -> np.ndarray:
    """Which values are labels, shape (N,) bool. -1 (number or string), an empty string, None and NaN are not.

    Args:
        values: shape (N,), of any type.
    """
    import pandas as pd

    def is_label(value: Any) -> bool:
        return (value.strip() if isinstance(value, str) else value) not in ("", "-1", -1)

    missing = pd.isna(values)
    return np.array([not gone and is_label(value) for value, gone in zip(values.tolist(), missing, strict=True)])


def plain(values: Any, what: str) -> np.ndarray:
    """The values as one flat array of whole numbers, truth values or texts.

    Raises:
        DataError: they are missing somewhere, not whole, or not one a sample.
    """
    array = as_array(values)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        hint = "; of rows with one 1, take the argmax" if array.ndim == 2 else ""
        raise DataError(f"{what}: shape {array.shape}; give one label a sample, shape (N,){hint}")
    missing = [row for row, value in enumerate(array.tolist()) if value is None or value != value]  # NaN is not itself
    if missing:
        raise DataError(
            f"{what}: {len(missing)} of {len(array)} are missing: rows {listed(missing)}; label these rows or drop them"
            "; a method for few labels learns from them too (data.unlabeled=true, method.name=pseudo-label)"
        )
    if array.dtype.kind in "biu":
        return array
    if array.dtype.kind == "f":
        return whole(array, what)
    return numbers_if_all_are(np.array([str(value) for value in array.tolist()], dtype=str))


def as_array(values: Any) -> np.ndarray:
    """The values as NumPy sees them, but for lists of texts, among which it would turn a NaN into the text "nan"."""
    if isinstance(values, Tensor):
        return values.detach().cpu().numpy()
    if isinstance(values, list) and any(isinstance(value, str) for value in values):
        return np.array(values, dtype=object)
    return np.asarray(values)


def whole(numbers: np.ndarray, what: str) -> np.ndarray:
    """Floats that are whole numbers, as such."""
    broken = np.flatnonzero(numbers != np.floor(numbers))
    if len(broken):
        raise DataError(
            f"{what}: {len(broken)} of {len(numbers)} are no whole numbers, such as {numbers[broken[0]]:g} in row "
            f"{broken[0]}; a classifier needs classes, cut the range into some"
        )
    return numbers.astype(np.int64)


def numbers_if_all_are(texts: np.ndarray) -> np.ndarray:
    """Texts that are all whole numbers as such, so that 10 comes after 9; 3.0 is 3, but 007 is a text."""
    if not all(WHOLE.fullmatch(text) for text in texts.tolist()):
        return texts
    try:
        return np.array([int(text.partition(".")[0]) for text in texts.tolist()], dtype=np.int64)
    except OverflowError:
        return texts
