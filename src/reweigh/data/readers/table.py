"""Tables with a label column, from CSV or Parquet files or a pandas DataFrame."""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from reweigh.data.checks import check, check_samples, listed
from reweigh.data.dataset import Dataset, Reading
from reweigh.data.labels.class_numbers import encode
from reweigh.data.readers.reader import Form, Reader, Request, Unlabeled, UnlabeledReader
from reweigh.data.tables.encoding import Encoding, Kind, fit_encoding
from reweigh.data.tables.frames import SUFFIXES, read_frame, read_strings
from reweigh.errors import DataError
from reweigh.names import suggestion

if TYPE_CHECKING:
    import pandas as pd

log = logging.getLogger(__name__)
USUAL_LABELS = ("label", "labels", "target", "class", "y")


def read_table(path: Path, request: Request) -> Dataset:
    """A dataset from a CSV or Parquet file; see ``from_frame``."""
    what, encoding = str(path), request.encoding
    frame = read_frame(path, () if encoding is None else encoding.string_columns)
    own = request.labels is None or request.label is not None
    wanted = [label_column(frame, request.label, what)] if own else []
    wanted += [] if request.true_label is None else [label_column(frame, request.true_label, what)]
    if path.suffix != ".parquet" and wanted:  # labels as strings: a class may be called NA
        frame[wanted] = read_strings(path)[wanted]
    return from_frame(
        frame,
        label=request.label,
        true_label=request.true_label,
        labels=request.labels,
        class_names=request.class_names,
        encoding=encoding,
        unlabeled=request.unlabeled,
        what=what,
    )


def from_frame(
    frame: "pd.DataFrame",
    *,
    label: str | None = None,
    true_label: str | None = None,
    labels: Any = None,
    class_names: Sequence[str] | None = None,
    encoding: Encoding | None = None,
    kinds: Mapping[str, Kind] | None = None,
    text: Literal["tf-idf", "hashing"] = "tf-idf",
    text_features: int = 256,
    max_categories: int = 50,
    unlabeled: bool = False,
    what: str = "table",
) -> Dataset:
    """A dataset from a pandas DataFrame: features from all columns but the label.

    Missing values are filled (numbers with the mean, categories with a category "missing"), never silently: a warning
    is logged, and ``dataset.reading.missing`` counts them. ``dataset.reading.encoding`` encodes later tables.

    Args:
        label: the column of labels; by default the one called ``label``, ``target``, ``class`` or ``y``.
        true_label: a column of true labels, for evaluation; never a feature.
        labels: N labels from elsewhere, instead of a column.
        class_names: class names; by default the distinct labels.
        encoding: an encoding fitted to another table; by default one is fitted to this table, with the options that
            follow (see ``fit_encoding``).
        unlabeled: whether a label may be empty or -1, for a sample without one.
        what: name of the table in messages.

    Raises:
        DataError: no label column, labels missing, or columns that cannot be encoded.
    """
    if labels is None:
        label = label_column(frame, label, what)
        labels = frame[label]
    numbers, names = encode(empty_as_missing(labels), class_names, f"{what}: labels", unlabeled=unlabeled)
    true_labels = None
    if true_label is not None:
        true_labels, _ = encode(
            empty_as_missing(frame[label_column(frame, true_label, what)]), names, f"{what}: true labels"
        )
    features = frame.drop(columns=[name for name in (label, true_label) if name in frame.columns])
    if encoding is None:
        encoding = fit_encoding(
            features, kinds=kinds, text=text, text_features=text_features, max_categories=max_categories, what=what
        )
    inputs = encoding.apply(features, what)
    missing = encoding.missing(features)
    if missing:
        log.warning(
            "%s: missing values filled: %s", what, listed(f"{count} in {name!r}" for name, count in missing.items())
        )
    dataset = Dataset(inputs, numbers, names, true_labels, reading=Reading(missing=missing, encoding=encoding))
    return (check if class_names is None or unlabeled else check_samples)(dataset, what)


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
        raise DataError(
            f"{what}: no column {wanted!r} for the label; there are: {listed(columns)}.{suggestion(wanted, columns)}"
        )
    return wanted


def empty_as_missing(labels: Any) -> list[Any]:
    """The labels, with None for empty strings and for values that pandas considers missing."""
    import pandas as pd

    values = pd.Series(labels).astype(object)
    return [
        None if gone or not str(value).strip() else value for value, gone in zip(values, values.isna(), strict=True)
    ]


def read_inputs(path: Path, form: Form) -> Unlabeled:
    """The rows of a table, encoded as the training rows were."""
    if form.encoding is None:
        raise form.mismatch(path, "a table")
    return Unlabeled(form.encoding.apply(read_frame(path, form.encoding.string_columns), str(path)))


def _recognizes(path: Path) -> bool:
    return path.is_file() and path.name.endswith(SUFFIXES)


def _has_labels(path: Path, label: str | None) -> bool:
    return label is not None or any(name in read_frame(path).columns for name in USUAL_LABELS)


ABOUT = "a table (.csv, .tsv, .parquet)"
READER = Reader(
    about=ABOUT,
    recognizes=_recognizes,
    read=read_table,
    has_labels=_has_labels,
    unlabeled=UnlabeledReader(ABOUT, _recognizes, read_inputs),
)
