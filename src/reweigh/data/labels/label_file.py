"""Labels of a file of their own that replace the given ones, and labels that name several candidates."""

import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from reweigh.core.candidates import CandidateSets
from reweigh.data.arrays import load
from reweigh.data.dataset import Dataset, at_rows, listed, plural, raise_all, range_mistakes
from reweigh.data.labels.class_numbers import encode
from reweigh.data.tables.frames import SUFFIXES, read_frame
from reweigh.errors import DataError
from reweigh.files.limits import check_labels

if TYPE_CHECKING:
    import pandas as pd

log = logging.getLogger(__name__)

LABEL_COLUMNS = ("label", "labels", "given_label", "noisy_label", "class", "target")


def read_labels(
    path: str | Path,
    num_samples: int,
    class_names: Sequence[str],
    *,
    unlabeled: bool = False,
    names: Sequence[str] = (),
) -> Tensor:
    """One label for each of ``num_samples``; see ``label_values``."""
    values = label_values(path, num_samples, names)
    labels, _ = encode(values, class_names, str(path), unlabeled=unlabeled)
    raise_all(range_mistakes(labels, len(class_names), "labels", -1 if unlabeled else 0), str(path))
    return labels


def label_values(path: str | Path, num_samples: int | None = None, names: Sequence[str] = ()) -> np.ndarray:
    """The labels of a file as stored, numbers or names.

    A ``.npy`` holds N numbers or names. A ``.csv`` holds a column of them, in the order of the samples or, with a
    column ``index`` or one of file names, in any order; each sample exactly once.

    Args:
        num_samples: Number of labels expected; None accepts any number.
        names: Names of the samples; a column of a ``.csv`` that has them says whose label a row is.
    """
    path = Path(path)
    if path.suffix == ".npy":
        values = load(path)
    elif path.name.endswith(SUFFIXES):
        values = label_cells(by_name(read_frame(path), names, str(path)), num_samples, str(path))
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


def by_name(frame: "pd.DataFrame", names: Sequence[str], what: str) -> "pd.DataFrame":
    """The rows of a label file in the order of the samples, if a column names them; otherwise the file as it is.

    Rows of other names are left out with a warning: a file that cannot be read is a sample only if it is read later.
    """
    column, written = names_in(frame, names)
    if column is None or len({*names}) < len(names) or len({*written}) < len(written):
        return frame
    row = {name: place for place, name in enumerate(written)}
    if missing := [name for name in names if name not in row]:
        raise DataError(
            f"{what}: no row for {listed(missing)}: files were moved, renamed or added since; write the labels again, "
            f"or drop the column {column!r} if the order is right"
        )
    if others := sorted({*written} - {*names}):
        log.warning("%s: %s for what is not in the data: %s", what, plural(len(others), "label"), listed(others))
    return frame.iloc[[row[name] for name in names]].drop(columns="index", errors="ignore")


def names_in(frame: "pd.DataFrame", names: Sequence[str]) -> tuple[str | None, list[str]]:
    """The column of a label file that names samples, and these names without the folder of the data before them."""
    known = {*names}
    for column in frame.columns if names and len(frame) else ():
        cells = frame[column].to_numpy(dtype=str).tolist()
        for end in [0, *(place + 1 for place, letter in enumerate(cells[0]) if letter in "/\\")]:
            written = [cell.removeprefix(cells[0][:end]) for cell in cells]
            if column == "name" or 2 * sum(name in known for name in written) > len(cells):
                return column, written
    return None, []


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
    """
    names = dataset.reading.names and [dataset.reading.names[row] for row in dataset.source_rows.tolist()]
    if new_classes:
        values = label_values(path, len(dataset), names)
        labels, class_names = encode(values, None, str(path), unlabeled=unlabeled)
        return replace(dataset, labels=labels, class_names=class_names, true_labels=None)
    labels = read_labels(path, len(dataset), dataset.class_names, unlabeled=unlabeled, names=names)
    return replace(dataset, labels=labels)


OTHER_SEPARATORS = (";", ",", "/", "+", "&", " and ")
SEPARATOR = "|"  # between candidate labels, by default


def with_candidates(dataset: Dataset, candidates: CandidateSets) -> Dataset:
    """The same inputs with a set of candidate labels each; the old labels become the true ones, unless known before."""
    return replace(dataset.with_labels(one_of_each(candidates)), candidates=candidates)


def one_of_each(candidates: CandidateSets) -> Tensor:
    """One candidate per sample, the (row mod count)-th, so that class sizes are about as the candidates are."""
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
