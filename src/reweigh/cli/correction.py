"""A copy of the user's data with the suggested labels in place of those that look wrong."""

import gzip
import io
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from reweigh.cli.target import check_ending
from reweigh.errors import DataError
from reweigh.files.cells import as_text, to_csv, warn_of_formulas

if TYPE_CHECKING:
    import pandas as pd
    from torch import Tensor

    from reweigh.data import Dataset
    from reweigh.report.account import Account


class Corrected(NamedTuple):
    """The content of the copy, and the command that trains on it."""

    content: bytes | str
    usage: str


def corrected_copy(account: "Account", out: Path, spreadsheet_safe: bool = False) -> Corrected:
    """The same table with other labels; a label file for images, arrays, and labels that had a file of their own.

    Labels of the part that was held out for testing stay as they are: nothing was learned about them.

    Args:
        out: Path of the copy; its ending must be that of the table, or of a label file.
        spreadsheet_safe: Whether to write formulas as text; otherwise the copy is exact but for the labels.

    Raises:
        DataError: The labels are not those of a file, or the file is gone or was changed.
    """
    data, dataset = account.recipe.source, account.dataset
    if data.name != "files":
        raise DataError(f"--apply: {data.name} is a named dataset, not a file of yours; use --out")
    if data.parts["bias"] or data.parts["candidates"] or data.added["labeled"] is not None:
        raise DataError(
            "--apply: the recipe itself changed the labels (data.bias, data.candidates or data.labeled), so there is "
            "nothing to correct in your files; use --out"
        )
    if dataset is None:
        raise DataError(f"--apply: the data cannot be copied: {account.no_data}")
    from reweigh.data.tables.frames import SUFFIXES
    from reweigh.fit.source import data_root

    path = Path(data_root(data.added["root"]), data.options["path"])
    if path.name.endswith(SUFFIXES) and data.options["labels"] is None:
        return _table(account, path, out, spreadsheet_safe)
    check_ending("--apply", out, (".csv",), "a label file")
    label = ["--label", data.options["label"]] if data.options["label"] else []
    usage = ["reweigh", "train", "--data", str(path), *label, "--labels", str(out), *_kind(account)]
    return Corrected(to_csv(_label_file(account), out, spreadsheet_safe), shlex.join(usage))


def _kind(account: "Account") -> list[str]:
    """What a command must say about labels that are not plain ones."""
    options = account.recipe.source.options
    several = ["--candidates"] if options["separator"] else []
    return [*several, *(["data.unlabeled=true"] if options["unlabeled"] else [])]


def changes(account: "Account") -> "tuple[Tensor, Tensor]":
    """Rows of the labels that look wrong, and the suggested class of each."""
    import torch

    samples = account.samples
    assert samples is not None
    assert samples.issue is not None
    assert samples.suggested is not None
    return torch.from_numpy(samples.row[samples.issue]), torch.from_numpy(samples.suggested[samples.issue])


def _label_file(account: "Account") -> list[tuple[Any, ...]]:
    """A header, and index, name and label of every sample of the source, the held-out ones too."""
    from reweigh.fit.source import read_training_set

    train, test = read_training_set(account.recipe.source, account.recipe.train["seed"])
    between = account.recipe.source.options["separator"]
    labels = dict(enumerate(_as_written(train, between))) if train.origin is None else {}
    for part in (train, test):
        if part.origin is not None:  # a part of the source
            labels |= zip(part.origin.tolist(), _as_written(part, between), strict=True)
    for row, label in zip(*(each.tolist() for each in changes(account)), strict=True):
        labels[row] = train.class_names[label]
    names = train.reading.names
    rows = [(row, *names[row : row + 1], label) for row, label in sorted(labels.items())]
    return [("index", "name", "label") if names else ("index", "label"), *rows]


def _as_written(part: "Dataset", separator: str | None) -> list[str]:
    """The label of each sample as a file has it; empty where there is none."""
    if part.candidates is None:
        return [part.class_names[label] if label >= 0 else "" for label in part.labels.tolist()]
    assert separator is not None
    rows = part.candidates.tolist()
    return [separator.join(name for name, there in zip(part.class_names, row, strict=True) if there) for row in rows]


def _table(account: "Account", path: Path, out: Path, spreadsheet_safe: bool) -> Corrected:
    """The same table, cell by cell, except for the labels that look wrong."""
    import pandas as pd

    from reweigh.data.readers.table import label_column
    from reweigh.data.tables.frames import data_errors, read_frame, separator

    label = label_column(read_frame(path), account.recipe.source.options["label"], str(path))
    usage = shlex.join(["reweigh", "train", "--data", str(out), "--label", label, *_kind(account)])
    if path.suffix == ".parquet":
        check_ending("--apply", out, (".parquet",), "a copy of this table")
        frame = pd.read_parquet(path)
        _replace(account, frame, [str(name) for name in frame.columns].index(label), 0)
        buffer = io.BytesIO()
        frame.to_parquet(buffer)
        return Corrected(buffer.getvalue(), usage)
    between = separator(path)
    check_ending("--apply", out, (".tsv" if between == "\t" else ".csv",), "a copy of this table")
    with data_errors(path):
        frame = pd.read_csv(path, sep=between, header=None, dtype=str, keep_default_na=False)  # the header is row 0
    _replace(account, frame, frame.iloc[0].tolist().index(label), 1)
    if spreadsheet_safe:
        frame = frame.map(as_text)
    else:
        warn_of_formulas(frame.itertuples(index=False), out)
    text = frame.to_csv(sep=between, header=False, index=False, lineterminator=_line_end(path))
    return Corrected(text, usage)


def _line_end(path: Path) -> str:
    """What ends the first line of a text file, plain or gzipped."""
    with (gzip.open if path.suffix == ".gz" else open)(path, "rb") as file:
        return "\r\n" if file.readline().endswith(b"\r\n") else "\n"


def _replace(account: "Account", frame: "pd.DataFrame", column: int, first: int) -> None:
    """Put suggested labels into a column, each as the table itself writes that class.

    Args:
        first: Row of the frame that holds sample 0.
    """
    dataset = account.dataset
    assert dataset is not None
    origin = dataset.origin.tolist() if dataset.origin is not None else range(len(dataset))
    cells = frame.iloc[:, column]
    written = dict(enumerate(dataset.class_names))
    if dataset.candidates is None:
        written |= zip(dataset.labels.tolist(), (cells.iloc[first + row] for row in origin), strict=True)
    rows, suggested = changes(account)
    for row, label in zip(rows.tolist(), suggested.tolist(), strict=True):
        frame.iloc[first + row, column] = written[label]
