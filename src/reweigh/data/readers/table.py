"""Tables with a label column, from files or a pandas DataFrame."""

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from reweigh.data.dataset import Dataset, Reading, check, check_samples, listed, plural
from reweigh.data.labels.class_numbers import check_target, encode
from reweigh.data.labels.vote_files import consensus_of, read_votes
from reweigh.data.parts import parts_of
from reweigh.data.readers.reader import Form, Reader, Request, Unlabeled, UnlabeledReader
from reweigh.data.source import USUAL_LABELS, Source, absent, label_column
from reweigh.data.tables.cells import LABEL_GAPS, cells_of
from reweigh.data.tables.decide import Kind, decide
from reweigh.data.tables.encoding import Encoding, fit_encoding
from reweigh.data.tables.frames import is_table, read_frame, tables_at
from reweigh.errors import DataError
from reweigh.issues.votes import Votes

if TYPE_CHECKING:
    import pandas as pd

log = logging.getLogger(__name__)


def from_frame(frame: "pd.DataFrame", request: Request, what: str = "table") -> Dataset:
    """A dataset from a pandas DataFrame: features from all columns but the label.

    Missing values are filled (numbers with the mean, categories with a category "missing"), never silently: a warning
    is logged, and ``dataset.reading.missing`` counts them. ``dataset.reading.encoding`` encodes later tables.
    """
    if len(frame) == 0:
        raise DataError(f"{what}: a header without rows; there is nothing to learn from")
    source, labels, class_names = request.source, request.labels, request.class_names
    label, true_label = source.label, source.true_label
    votes, voted = None, source.label_columns() if labels is None else []
    if voted or source.votes is not None:
        votes, labels, class_names = votes_for(frame, request, voted if source.votes is None else [])
        label = None
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
    groups = None if source.group is None else column_groups(frame, source.group, what)
    others = (label, source.label, true_label, source.group, *voted)
    features = frame.drop(columns=[name for name in others if name in frame.columns])
    encoding = request.encoding
    if encoding is None:
        kinds: dict[str, Kind] = dict(source.columns)
        if kinds.pop(label or "", None) == "drop":
            raise DataError(
                f"{what}: column {label!r} is the label; keep it (no --drop {label}), or name another label"
            )
        if request.encode:
            encoding = fit_encoding(features, kinds=kinds, gaps=dict(source.gaps), text=request.text, what=what)
        else:
            encoding = Encoding((), decide(features, kinds, what, dict(source.gaps)))
    inputs = encoding.apply(features, what) if encoding.columns else torch.zeros(len(given), 1)
    reading = Reading(missing=filled(encoding, features, what), encoding=encoding)
    if votes is not None and origin is not None:
        votes = votes[origin]
    dataset = Dataset(inputs, numbers, names, true_labels, groups=groups, votes=votes, origin=origin, reading=reading)
    return (check if request.class_names is None or request.unlabeled else check_samples)(dataset, what)


def votes_for(
    frame: "pd.DataFrame", request: Request, columns: Sequence[str]
) -> tuple[Votes, list[str | None], Sequence[str]]:
    """Votes of several labelers for the rows of a table, their consensus (None for rows without one), the classes."""
    if columns:
        cells = {name: gaps_as_none(frame[name]) for name in columns}
        for name, given in cells.items():
            check_target(given, name, str(request.source.path))
        votes = Votes.of(cells)
    else:
        unique = {str(name): frame[name].astype(str).str.strip() for name in frame.columns if frame[name].is_unique}
        assert request.source.votes is not None
        votes = read_votes(request.source.votes, [range(len(frame)), *unique.values()], list(unique))
    return consensus_of(votes, request.class_names)


def filled(encoding: Encoding, features: "pd.DataFrame", what: str) -> dict[str, int]:
    """Number of missing values of each column that were filled; logged if there are any."""
    missing = encoding.missing(features)
    if missing:
        log.warning(
            "%s: missing values filled: %s", what, listed(f"{count} in {name!r}" for name, count in missing.items())
        )
    return missing


def column_groups(frame: "pd.DataFrame", group: str, what: str) -> torch.Tensor:
    """The group of each row by a column; a gap is a group of its own."""
    if group not in frame.columns:
        raise absent(group, frame.columns, "group", what)
    cells = cells_of(frame.loc[:, group])
    if len(cells.distinct) < 2 and not cells.gaps:
        raise DataError(f"{what}: column {group!r} has one value, so all rows are in one group; name another column")
    own = np.arange(len(cells.codes)) + len(cells.distinct)
    return torch.from_numpy(np.where(cells.codes < 0, own, cells.codes))


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
    like = form.trained_on or Source(path)
    frame = read_frame(path, form.sep or like.sep, form.charset or like.encoding)
    inputs = form.encoding.apply(frame, str(path))
    for words in form.encoding.strange(frame):
        log.warning("%s: %s", path, words)
    return Unlabeled(inputs, frame=frame)


def _has_labels(source: Source) -> bool:
    named = source.label is not None or source.votes is not None
    return named or any(name in source.frame().columns for name in USUAL_LABELS)


ABOUT = "a table (.csv, .tsv, .xlsx, .json, .parquet, .arrow)"
READER = Reader(
    about=ABOUT,
    recognizes=is_table,
    read=lambda path, request: from_frame(request.source.frame(request.split), request, str(path)),
    has_labels=_has_labels,
    has_test=lambda path: path.is_dir() and "test" in parts_of(tables_at(path)),
    unlabeled=UnlabeledReader(ABOUT, is_table, read_inputs),
)
