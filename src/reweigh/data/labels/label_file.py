"""Labels in a file of their own: human re-annotations, or the work of a bias, in place of the given ones."""

import csv
import io
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from torch import Tensor

from reweigh.data.arrays import load
from reweigh.data.checks import listed, raise_all, range_mistakes
from reweigh.data.dataset import Dataset
from reweigh.data.labels.class_numbers import encode, encode_known
from reweigh.data.tables.frames import read_texts
from reweigh.errors import DataError
from reweigh.files import write_whole

LABEL_COLUMNS = ("label", "labels", "given_label", "noisy_label", "class", "target")


def read_labels(
    path: str | Path,
    num_samples: int,
    class_names: Sequence[str],
    *,
    column: str | None = None,
    unlabeled: bool = False,
    names: Sequence[str] = (),
) -> Tensor:
    """One label for each of ``num_samples``.

    A ``.npy`` holds N numbers or names. A ``.csv`` holds a column of them, in order or, with a column ``index``, in any
    order; each sample exactly once.

    Args:
        class_names: of the data that the labels are for.
        column: of the ``.csv``; otherwise its only one, or one of ``LABEL_COLUMNS``.
        unlabeled: a label may be empty, or -1: the sample has none.
        names: of the samples; a ``.csv`` with a column ``name`` must have the same.

    Raises:
        DataError: another number of labels than samples, an unknown class, a sample twice or not at all.
    """
    values = label_values(path, num_samples, column, names)
    labels, _ = (encode_known if unlabeled else encode)(values, class_names, str(path))
    raise_all(range_mistakes(labels, len(class_names), "labels", -1 if unlabeled else 0), str(path))
    return labels


def label_values(
    path: str | Path, num_samples: int | None = None, column: str | None = None, names: Sequence[str] = ()
) -> np.ndarray:
    """The labels of a file as they are, numbers or names; see ``read_labels``.

    Args:
        num_samples: how many there should be; None takes as many as there are.
        names: of the samples; a ``.csv`` with a column ``name`` must have the same.
    """
    path = Path(path)
    if path.suffix == ".npy":
        values = load(path)
    elif path.suffix == ".csv":
        values = csv_column(path, num_samples, column)
        check_names(path, names)
    else:
        raise DataError(f"{path}: a label file ends in .npy or .csv; got {path.suffix or 'no ending'!r}")
    assert isinstance(values, np.ndarray)
    if num_samples is not None and len(values) != num_samples:
        raise DataError(
            f"{path}: {len(values)} labels for {num_samples} samples; give one a sample, in the order of the data"
        )
    return values


def check_names(path: Path, names: Sequence[str]) -> None:
    """Raise a DataError unless the names that a label file has are those of the samples.

    Labels go by the order of the samples; where photos were moved or renamed since, they would all be shifted.
    """
    frame = read_texts(path)
    if not names or "name" not in frame.columns or len(frame) != len(names):
        return
    order = np.argsort(frame["index"].astype(np.int64)) if "index" in frame.columns else np.arange(len(names))
    written = frame["name"].to_numpy(dtype=str)[order].tolist()
    moved = [row for row, (old, new) in enumerate(zip(written, names, strict=True)) if old != new]
    if moved:
        raise DataError(
            f"{path}: row {moved[0]} is {written[moved[0]]!r}, but the data have {names[moved[0]]!r} there: files were "
            "moved, renamed or added since; write the labels anew, or drop the column 'name' if the order is right"
        )


def csv_column(path: Path, num_samples: int | None, column: str | None) -> np.ndarray:
    """The labels of a ``.csv`` in the order of the samples; as many as there are if ``num_samples`` is None."""
    frame = read_texts(path)
    if column is None:
        others = [name for name in frame.columns if name != "index"]
        usual = [name for name in LABEL_COLUMNS if name in others]
        column = others[0] if len(others) == 1 else usual[0] if usual else None
    if column not in frame.columns:
        raise DataError(
            f"{path}: no column of labels; it has: {listed(frame.columns)}. Name the column 'label', or say which"
        )
    values = frame[column].to_numpy(dtype=str)
    if "index" not in frame.columns or column == "index":
        return values
    try:
        index = frame["index"].to_numpy(dtype=str).astype(np.int64)
    except ValueError as error:
        raise DataError(f"{path}: column 'index': {error}; give whole numbers from 0") from None
    num_samples = len(index) if num_samples is None else num_samples
    places, times = np.unique(index, return_counts=True)
    mistakes = [
        f"index: {listed(wrong)} {trouble}; give 0 to {num_samples - 1}, each once"
        for wrong, trouble in (
            (places[times > 1], "more than once"),
            (places[(places < 0) | (places >= num_samples)], "no sample"),
            (np.setdiff1d(np.arange(num_samples), places), "without a label"),
        )
        if len(wrong)
    ]
    raise_all(mistakes, str(path))
    return values[np.argsort(index)]


def write_labels(path: str | Path, labels: Tensor, class_names: Sequence[str], index: Tensor | None = None) -> None:
    """Write a label file that ``read_labels`` reads: class numbers to a ``.npy``, places and names to a ``.csv``.

    Args:
        labels: shape (n,).
        index: shape (n,), the place of each sample in the data; all of them, in order, by default.

    Raises:
        DataError: another ending, or a ``.npy`` for a part of the samples, which could not say which they are.
    """
    path = Path(path)
    places = range(len(labels)) if index is None else index.tolist()
    if path.suffix == ".csv":
        text = io.StringIO()
        rows = csv.writer(text, lineterminator="\n")
        rows.writerow(("index", "label"))
        rows.writerows((place, class_names[label]) for place, label in zip(places, labels.tolist(), strict=True))
        write_whole(path, text.getvalue())
    elif path.suffix == ".npy" and list(places) == list(range(len(labels))):
        buffer = io.BytesIO()
        np.save(buffer, labels.numpy())
        write_whole(path, buffer.getvalue())
    else:
        what = "holds all samples in order, these are only some" if path.suffix == ".npy" else "is no label file"
        raise DataError(f"{path}: {path.suffix or 'no ending'!r} {what}; write a .csv")


def override(
    dataset: Dataset,
    path: str | Path,
    *,
    column: str | None = None,
    unlabeled: bool = False,
    new_classes: bool = False,
) -> Dataset:
    """The dataset with the labels of a file; its own are forgotten, and true labels stay if they were known.

    For official labels that shall stay as the true ones, use ``dataset.with_labels(read_labels(...))``.

    Args:
        new_classes: the classes are those that the file names, not those of the dataset.
    """
    if new_classes:
        values = label_values(path, len(dataset), column, dataset.reading.names)
        labels, names = (encode_known if unlabeled else encode)(values, None, str(path))
        return replace(dataset, labels=labels, class_names=names, true_labels=None)
    names = dataset.reading.names
    labels = read_labels(path, len(dataset), dataset.class_names, column=column, unlabeled=unlabeled, names=names)
    return replace(dataset, labels=labels)
