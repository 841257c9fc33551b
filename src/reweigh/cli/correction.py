"""A copy of the user's data with the suggested labels in place of those that look wrong."""

import io
import shlex
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from reweigh.cli.target import check_ending
from reweigh.data import Dataset
from reweigh.data.readers.table import label_column
from reweigh.data.tables.dialect import dialect_of
from reweigh.data.tables.frames import SUFFIXES, data_errors, is_text, read_frame, tables_at
from reweigh.errors import DataError
from reweigh.files.cells import as_text, to_csv, warn_of_formulas
from reweigh.files.limits import opened
from reweigh.fit.source import check_there, data_root, read_training_set
from reweigh.runs.account import Account


class Corrected(NamedTuple):
    """The content of the copy, and the command that trains on it."""

    content: bytes | str
    usage: str


def corrected_copy(
    account: Account, rows: np.ndarray, labels: np.ndarray, out: Path, spreadsheet_safe: bool = False
) -> Corrected:
    """The same table with other labels; a label file for images, arrays, and labels that had a file of their own.

    Args:
        rows: Shape (n,), rows of the user's data.
        labels: Shape (n,), the new label of each.
        out: Path of the copy; its ending must be that of the table, or of a label file.
        spreadsheet_safe: Whether to write formulas as text; otherwise the copy is exact but for the labels.
    """
    changes = dict(zip(rows.tolist(), labels.tolist(), strict=True))
    data, dataset = account.recipe.source, account.dataset
    if data.name != "files":
        raise DataError(f"--apply: {data.name} is a named dataset, not your own file; use --out")
    if data.parts["bias"] or data.parts["candidates"] or data.added["labeled"] is not None:
        raise DataError(
            "--apply: the recipe itself changed the labels (data.bias, data.candidates or data.labeled), so there is "
            "nothing to correct in your files; use --out"
        )
    if dataset is None:
        check_there(data)  # or they have changed, or cannot be read
        raise DataError(f"--apply: the data cannot be copied: {account.no_data}")
    path = Path(data_root(data.added["root"]), data.options["path"])
    if path.name.endswith(SUFFIXES) and data.options["labels"] is None:
        return _table(account, path, changes, out, spreadsheet_safe)
    check_ending("--apply", out, (".csv",), "a label file")
    label = ["--label", data.options["label"]] if data.options["label"] else []
    usage = ["reweigh", "train", "--data", str(path), *label, "--labels", str(out), *_kind(account)]
    return Corrected(to_csv(_label_file(account, changes), out, spreadsheet_safe), shlex.join(usage))


def _kind(account: Account) -> list[str]:
    """Options that a command needs to read the same labels and columns."""
    options = account.recipe.source.options
    several = ["--candidates"] if options["separator"] else []
    several += ["--join-labels"] if options["join_labels"] else []
    for name, kind in (options["columns"] or {}).items():
        several += ["--drop", name] if kind == "drop" else [f"data.columns.{name}={kind}"]
    return [*several, *(["data.unlabeled=true"] if options["unlabeled"] else [])]


def _label_file(account: Account, changes: Mapping[int, int]) -> list[tuple[Any, ...]]:
    """A header, and index, name and label of every sample of the source, the held-out ones too."""
    train, test = read_training_set(account.recipe.source, account.recipe.train["seed"])
    between = account.recipe.source.options["separator"]
    labels = dict(enumerate(_as_written(train, between))) if train.origin is None else {}
    for part in (train, test):
        if part.origin is not None:  # a part of the source
            labels |= zip(part.origin.tolist(), _as_written(part, between), strict=True)
    labels |= {row: train.class_names[label] for row, label in changes.items()}
    names = train.reading.names
    rows = [(row, *names[row : row + 1], label) for row, label in sorted(labels.items())]
    return [("index", "name", "label") if names else ("index", "label"), *rows]


def _as_written(part: Dataset, separator: str | None) -> list[str]:
    """The label of each sample as a file has it; empty where there is none."""
    if part.candidates is None:
        return [part.class_names[label] if label >= 0 else "" for label in part.labels.tolist()]
    assert separator is not None
    return [separator.join(part.class_names[number] for number in row) for row in part.candidates.tolist()]


def _table(account: Account, path: Path, changes: Mapping[int, int], out: Path, spreadsheet_safe: bool) -> Corrected:
    """The same table, cell by cell, except for the labels that change."""
    options = account.recipe.source.options
    if len(tables_at(path)) > 1:
        raise DataError(f"--apply: {path} is several files; write the list with --out, or make one table of them")
    frame = read_frame(path, options["sep"], options["encoding"])
    label = label_column(frame, options["label"], str(path))
    usage = shlex.join(["reweigh", "train", "--data", str(out), "--label", label, *_kind(account)])
    if not is_text(path):
        ending = path.suffix if path.suffix in (".parquet", ".feather") else ".csv"
        check_ending("--apply", out, (ending,), "a copy of this table")
        buffer = io.BytesIO()
        if ending == ".parquet":
            frame = pd.read_parquet(path)
        _replace(account, frame, [str(name) for name in frame.columns].index(label), 0, changes)
        write = {".parquet": frame.to_parquet, ".feather": frame.to_feather}.get(ending)
        if write is None:
            return Corrected(frame.to_csv(index=False), usage)
        write(buffer)
        return Corrected(buffer.getvalue(), usage)
    with data_errors(path):
        how = dialect_of(path, options["sep"], options["encoding"])
        check_ending("--apply", out, (".tsv" if how.separator == "\t" else ".csv",), "a copy of this table")
        frame = pd.read_csv(  # the header is row 0
            path,
            sep=how.separator,
            encoding=how.encoding,
            quotechar=how.quote,
            skiprows=how.skip,
            header=None,
            names=range(len(how.header) + 1),  # rows may begin with a name, or end with a separator
            dtype=str,
            na_filter=False,
            index_col=False,
        ).fillna("")
    if how.row_names:
        frame.iloc[0] = ["", *frame.iloc[0, :-1]]
    elif (frame.iloc[:, -1] == "").all():
        frame = frame.iloc[:, :-1]
    _replace(account, frame, [name.strip() for name in frame.iloc[0].tolist()].index(label), 1, changes)
    if spreadsheet_safe:
        frame = frame.map(as_text)
    else:
        warn_of_formulas(frame.itertuples(index=False), out)
    end = _line_end(path)
    text = frame.to_csv(sep=how.separator, quotechar=how.quote, header=False, index=False, lineterminator=end)
    if how.row_names:
        text = text.removeprefix(how.separator)  # the header has no cell for them
    first = f"sep={how.separator}{end}" if how.skip else ""
    return Corrected((first + text).encode(how.encoding), usage)


def _line_end(path: Path) -> str:
    """What ends the first line of a text file, plain or compressed."""
    with opened(path) as file:
        return "\r\n" if b"\r" in file.readline() else "\n"


def _replace(account: Account, frame: pd.DataFrame, column: int, first: int, changes: Mapping[int, int]) -> None:
    """Put other labels into a column, each as the table itself writes that class most often.

    Args:
        first: Row of the frame that holds sample 0.
        changes: The new label of each row that changes.
    """
    dataset = account.dataset
    assert dataset is not None
    origin = dataset.origin.tolist() if dataset.origin is not None else range(len(dataset))
    cells = frame.iloc[:, column]
    written = dict(enumerate(dataset.class_names))
    if dataset.candidates is None:
        found: dict[int, Counter[Any]] = {}
        for label, row in zip(dataset.labels.tolist(), origin, strict=True):
            found.setdefault(label, Counter())[cells.iloc[first + row]] += 1
        written |= {label: count.most_common(1)[0][0] for label, count in found.items()}
    for row, label in changes.items():
        frame.iloc[first + row, column] = written[label]
