"""Labels in a separate file, such as human re-annotations or the output of a bias, that replace the given ones."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from torch import Tensor

from reweigh.data.arrays import load
from reweigh.data.checks import listed, plural, raise_all, range_mistakes
from reweigh.data.dataset import Dataset
from reweigh.data.labels.class_numbers import encode
from reweigh.data.tables.frames import SUFFIXES, read_frame
from reweigh.errors import DataError
from reweigh.files.limits import check_labels

if TYPE_CHECKING:
    import pandas as pd

LABEL_COLUMNS = ("label", "labels", "given_label", "noisy_label", "class", "target")


def read_labels(
    path: str | Path,
    num_samples: int,
    class_names: Sequence[str],
    *,
    unlabeled: bool = False,
    names: Sequence[str] = (),
) -> Tensor:
    """One label for each of ``num_samples``; see ``label_values``.

    Args:
        class_names: class names of the data that the labels are for.
        unlabeled: whether a label may be empty or -1, for a sample without one.
    """
    values = label_values(path, num_samples, names)
    labels, _ = encode(values, class_names, str(path), unlabeled=unlabeled)
    raise_all(range_mistakes(labels, len(class_names), "labels", -1 if unlabeled else 0), str(path))
    return labels


def label_values(path: str | Path, num_samples: int | None = None, names: Sequence[str] = ()) -> np.ndarray:
    """The labels of a file as stored, numbers or names.

    A ``.npy`` holds N numbers or names. A ``.csv`` holds a column of them, in the order of the samples or, with a
    column ``index``, in any order; each sample exactly once.

    Args:
        num_samples: number of labels expected; None accepts any number.
        names: names of the samples; a column ``name`` of a ``.csv`` must have the same.
    """
    path = Path(path)
    if path.suffix == ".npy":
        values = load(path)
    elif path.name.endswith(SUFFIXES):
        frame = read_frame(path)
        values = label_cells(frame, num_samples, str(path))
        check_names(frame, names, str(path))
    else:
        raise DataError(
            f"{path}: a label file is a .npy or a table such as .csv; got {path.suffix or 'no extension'!r}"
        )
    assert isinstance(values, np.ndarray)
    if values.ndim != 1:
        raise DataError(f"{path}: an array of shape {values.shape}; give one label per sample, shape (N,)")
    if num_samples is not None and len(values) != num_samples:
        raise DataError(
            f"{path}: {plural(len(values), 'label')} for {plural(num_samples, 'sample')}; "
            "give one per sample, in the order of the data"
        )
    return values


def check_names(frame: "pd.DataFrame", names: Sequence[str], what: str) -> None:
    """Raise a DataError if a label file names other samples than the data.

    Labels are matched by order; if files were moved or renamed since, all labels would be shifted.
    """
    if not names or "name" not in frame.columns or len(frame) != len(names):
        return
    order = np.argsort(frame["index"].astype(np.int64)) if "index" in frame.columns else np.arange(len(names))
    written = frame["name"].to_numpy(dtype=str)[order].tolist()
    moved = [row for row, (old, new) in enumerate(zip(written, names, strict=True)) if old != new]
    if moved:
        raise DataError(
            f"{what}: row {moved[0]} is {written[moved[0]]!r}, but the data have {names[moved[0]]!r} there: files were "
            "moved, renamed or added since; write the labels again, or drop the column 'name' if the order is right"
        )


def label_cells(frame: "pd.DataFrame", num_samples: int | None, what: str) -> np.ndarray:
    """The column of labels in the order of the samples; any number of them if ``num_samples`` is None."""
    others = [name for name in frame.columns if name != "index"]
    usual = [name for name in LABEL_COLUMNS if name in others]
    if not usual and len(others) != 1:
        raise DataError(f"{what}: no column of labels; it has: {listed(frame.columns)}. Call the column 'label'")
    column = others[0] if len(others) == 1 else usual[0]
    check_labels(frame[column], what)
    values = frame[column].to_numpy(dtype=str)
    if "index" not in frame.columns:
        return values
    try:
        index = frame["index"].to_numpy(dtype=str).astype(np.int64)
    except (ValueError, OverflowError) as error:
        raise DataError(f"{what}: column 'index': {error}; give whole numbers from 0") from None
    num_samples = len(index) if num_samples is None else num_samples
    found, times = np.unique(index, return_counts=True)
    mistakes = [
        f"index: {listed(wrong)} {trouble}; give 0 to {num_samples - 1}, each once"
        for wrong, trouble in (
            (found[times > 1], "more than once"),
            (found[(found < 0) | (found >= num_samples)], "not a sample"),
            (np.setdiff1d(np.arange(num_samples), found), "without a label"),
        )
        if len(wrong)
    ]
    raise_all(mistakes, what)
    return values[np.argsort(index)]


def override(dataset: Dataset, path: str | Path, *, unlabeled: bool = False, new_classes: bool = False) -> Dataset:
    """The dataset with the labels of a file instead of its own; true labels stay if they were known.

    To keep the labels of the dataset as the true ones, use ``dataset.with_labels(read_labels(...))``.

    Args:
        new_classes: take the classes from the file, not from the dataset.
    """
    names = dataset.reading.names
    if new_classes:
        values = label_values(path, len(dataset), names)
        labels, class_names = encode(values, None, str(path), unlabeled=unlabeled)
        return replace(dataset, labels=labels, class_names=class_names, true_labels=None)
    labels = read_labels(path, len(dataset), dataset.class_names, unlabeled=unlabeled, names=names)
    return replace(dataset, labels=labels)
