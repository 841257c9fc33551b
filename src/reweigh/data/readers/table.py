"""Tables with a label column, from files or a pandas DataFrame."""

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from reweigh.data.checks import check, check_samples, listed, plural
from reweigh.data.dataset import Dataset, Reading
from reweigh.data.labels.class_numbers import encode
from reweigh.data.labels.targets import check_target
from reweigh.data.parts import parts_of
from reweigh.data.readers.reader import Form, Reader, Request, Unlabeled, UnlabeledReader
from reweigh.data.tables.cells import LABEL_GAPS
from reweigh.data.tables.decide import Kind
from reweigh.data.tables.encoding import fit_encoding
from reweigh.data.tables.frames import is_table, read_frame, tables_at
from reweigh.errors import DataError
from reweigh.names import suggestion

if TYPE_CHECKING:
    import pandas as pd

log = logging.getLogger(__name__)
USUAL_LABELS = ("label", "labels", "target", "class", "y")


def read_table(path: Path, request: Request) -> Dataset:
    """A dataset from the files of a table; see ``from_frame``."""
    return from_frame(read_frame(path, request.sep, request.charset, request.split), request, str(path))


def from_frame(frame: "pd.DataFrame", request: Request, what: str = "table") -> Dataset:
    """A dataset from a pandas DataFrame: features from all columns but the label.

    Missing values are filled (numbers with the mean, categories with a category "missing"), never silently: a warning
    is logged, and ``dataset.reading.missing`` counts them. ``dataset.reading.encoding`` encodes later tables.

    Args:
        request: Without ``label``, labels are in the column called ``label``, ``target``, ``class`` or ``y``; without
            ``encoding``, one is fitted to this table.
        what: Name of the table in messages.
    """
    if len(frame) == 0:
        raise DataError(f"{what}: a header without rows; there is nothing to learn from")
    label, true_label, labels, class_names = request.label, request.true_label, request.labels, request.class_names
    if labels is None:
        label = label_column(frame, label, what)
        labels = frame[label]
    given, origin = gaps_as_none(labels), None
    if request.drop_unlabeled and not request.unlabeled and None in given and any(value is not None for value in given):
        rows = [row for row, value in enumerate(given) if value is not None]
        log.warning(
            "%s: %s without a label left out; method.name=pseudo-label learns from these too (in a recipe also "
            "data.unlabeled=true)",
            what,
            plural(len(given) - len(rows), "row"),
        )
        frame, given, origin = frame.iloc[rows], [given[row] for row in rows], torch.tensor(rows)
    if class_names is None:
        check_target(given, label or "labels", what)
    numbers, names = encode(given, class_names, f"{what}: labels", unlabeled=request.unlabeled)
    true_labels = None
    if true_label is not None:
        true = gaps_as_none(frame[label_column(frame, true_label, what)])
        true_labels, _ = encode(true, names, f"{what}: true labels")
    features = frame.drop(columns=[name for name in (label, true_label) if name in frame.columns])
    encoding = request.encoding
    if encoding is None:
        kinds: dict[str, Kind] = dict(request.columns or {})
        if kinds.pop(label or "", None) == "drop":
            raise DataError(
                f"{what}: column {label!r} is the label; keep it (no --drop {label}), or name another label"
            )
        encoding = fit_encoding(features, kinds=kinds, text=request.text, what=what)
    inputs = encoding.apply(features, what)
    missing = encoding.missing(features)
    if missing:
        log.warning(
            "%s: missing values filled: %s", what, listed(f"{count} in {name!r}" for name, count in missing.items())
        )
    reading = Reading(missing=missing, encoding=encoding)
    dataset = Dataset(inputs, numbers, names, true_labels, origin=origin, reading=reading)
    return (check if class_names is None or request.unlabeled else check_samples)(dataset, what)


def label_column(frame: "pd.DataFrame", wanted: str | None, what: str) -> str:
    """The column called ``wanted``, or the one with a usual name."""
    columns = [str(name) for name in frame.columns]
    if wanted is None:
        usual = [name for name in USUAL_LABELS if name in columns]
        if not usual:
            raise DataError(f"{what}: which column is the label? There are: {listed(columns)}. Name one", "label")
        for other in usual[1:]:
            pairs = set(zip(frame[usual[0]].tolist(), frame[other].tolist(), strict=True))
            if len(pairs) < len(frame) and all(len(set(side)) == len(pairs) for side in zip(*pairs, strict=True)):
                raise DataError(
                    f"{what}: columns {usual[0]!r} and {other!r} hold the same labels; drop one, or a model copies it"
                )
        return usual[0]
    if wanted not in columns:
        hint = " With only one column, the separator is probably another one (--sep)." if len(columns) == 1 else ""
        raise DataError(
            f"{what}: no column {wanted!r} for the label; there are: {listed(columns)}."
            f"{suggestion(wanted, columns)}{hint}"
        )
    return wanted


def gaps_as_none(labels: Any) -> list[Any]:
    """The labels, with None for gaps: empty strings, question marks and the like, and what pandas considers missing."""
    import pandas as pd

    values = pd.Series(labels).astype(object)
    return [
        None if gone or str(value).strip().casefold() in LABEL_GAPS else value
        for value, gone in zip(values, values.isna(), strict=True)
    ]


def read_inputs(path: Path, form: Form) -> Unlabeled:
    """The rows of a table, encoded as the training rows were; warns of what training did not have."""
    if form.encoding is None:
        raise form.mismatch(path, "a table")
    frame = read_frame(path, form.sep, form.charset)
    inputs = form.encoding.apply(frame, str(path))
    for words in form.encoding.strange(frame):
        log.warning("%s: %s", path, words)
    return Unlabeled(inputs, frame=frame)


def _has_labels(path: Path, label: str | None) -> bool:
    return label is not None or any(name in read_frame(path).columns for name in USUAL_LABELS)


ABOUT = "a table (.csv, .tsv, .xlsx, .json, .parquet, .arrow)"
READER = Reader(
    about=ABOUT,
    recognizes=is_table,
    read=read_table,
    has_labels=_has_labels,
    has_test=lambda path: path.is_dir() and "test" in parts_of(tables_at(path)),
    unlabeled=UnlabeledReader(ABOUT, is_table, read_inputs),
)
