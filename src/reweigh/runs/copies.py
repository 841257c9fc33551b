"""The content of a copy of the user's data with other labels: the same table, or a label file."""

import io
import shlex
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from reweigh.data import Dataset
from reweigh.data.source import Source
from reweigh.data.tables.frames import SUFFIXES, data_errors, is_text, tables_at
from reweigh.errors import DataError
from reweigh.files.cells import as_text, to_csv, warn_of_formulas
from reweigh.files.limits import opened
from reweigh.fit.source import check_there, read_training_set, source_of
from reweigh.runs.account import Account
from reweigh.runs.folders import is_folder_of_classes


class Copy(NamedTuple):
    """The content of the copy, and the command that trains on it."""

    content: bytes | str
    usage: str


def check_copyable(account: Account) -> None:
    """Raise a DataError if the labels of a run are not those of files that the user owns and that are still there."""
    data = account.recipe.source
    if data.name != "files":
        raise DataError(f"{data.name} is a named dataset, not your own file; write the list of labels instead (--out)")
    if data.parts["bias"] or data.parts["candidates"] or data.added["labeled"] is not None:
        raise DataError(
            "the recipe itself changed the labels (data.bias, data.candidates or data.labeled), so there is nothing to "
            "correct in your files; write the list of labels instead (--out)"
        )
    if account.dataset is None:
        check_there(data)  # or they have changed, or cannot be read
        raise DataError(f"the data cannot be copied: {account.no_data}")


def corrected_copy(
    account: Account,
    changes: Mapping[int, int],
    out: Path,
    spreadsheet_safe: bool = False,
    excluded: Collection[int] = (),
) -> Copy:
    """The same table with other labels; a label file for images, arrays, and labels that had a file of their own.

    Args:
        changes: The new label of each row of the data that changes.
        out: Path of the copy; its ending must be that of the table, or of a label file.
        spreadsheet_safe: Whether to write formulas as text; otherwise the copy is exact but for the labels.
        excluded: Rows of the data to leave out; in a label file, they have no label.
    """
    source = source_of(account.recipe.source)
    assert source is not None
    several = source.label_columns() if source.is_table else []
    if several or source.votes is not None:  # the consensus of several labelers has no column of its own
        dropped = tuple((name, "drop") for name in several)
        source = replace(source, label=None, votes=None, columns=source.columns + dropped)
    elif source.path.name.endswith(SUFFIXES) and source.labels is None:
        return _table(account, source, changes, out, spreadsheet_safe, excluded)
    what = "a folder of images has no ending, and a label file" if is_folder_of_classes(source) else "a label file"
    _check_ending(out, ".csv", what)
    usage = shlex.join(["reweigh", "train", *source.words(labels=out)])
    return Copy(to_csv(_label_file(account, changes, excluded), out, spreadsheet_safe), usage)


def copy_ending(source: Source) -> str:
    """How the name of a corrected copy ends; a folder of images by class has no ending."""
    if source.path.name.endswith(SUFFIXES) and source.labels is None and is_text(source.path):
        return ".tsv" if source.dialect().separator == "\t" else ".csv"
    if source.path.suffix in (".parquet", ".feather") and source.labels is None:
        return source.path.suffix
    return "" if is_folder_of_classes(source) else ".csv"


def _check_ending(out: Path, ending: str, what: str) -> None:
    if out.suffix != ending:
        raise DataError(f"{out}: {what} ends in {ending}; got {out.suffix or 'no ending'!r}")


def _label_file(account: Account, changes: Mapping[int, int], excluded: Collection[int]) -> list[tuple[Any, ...]]:
    """A header, and index, name and label of every sample of the source, the held-out ones too."""
    train, test = read_training_set(account.recipe.source, account.recipe.train["seed"])
    between = account.recipe.source.options["separator"]
    labels = dict(enumerate(_as_written(train, between))) if train.origin is None else {}
    for part in (train, test):
        if part.origin is not None:  # a part of the source
            labels |= zip(part.origin.tolist(), _as_written(part, between), strict=True)
    if train.votes is not None:
        labels = dict.fromkeys(range(max(labels, default=-1) + 1), "") | labels  # rows without a vote have no label
    labels |= {row: train.class_names[label] for row, label in changes.items()} | dict.fromkeys(excluded, "")
    names = train.reading.names
    rows = [(row, *names[row : row + 1], label) for row, label in sorted(labels.items())]
    return [("index", "name", "label") if names else ("index", "label"), *rows]


def _as_written(part: Dataset, separator: str | None) -> list[str]:
    """The label of each sample as a file has it; empty where there is none."""
    if part.candidates is None:
        return [part.class_names[label] if label >= 0 else "" for label in part.labels.tolist()]
    assert separator is not None
    return [separator.join(part.class_names[number] for number in row) for row in part.candidates.tolist()]


def _table(
    account: Account,
    source: Source,
    changes: Mapping[int, int],
    out: Path,
    spreadsheet_safe: bool,
    excluded: Collection[int],
) -> Copy:
    """The same table, cell by cell, except for the labels that change."""
    path = source.path
    if len(tables_at(path)) > 1:
        raise DataError(f"{path}: several files; write the list of labels instead (--out), or make one table of them")
    frame, label = source.frame().copy(), source.label_column()
    assert label is not None
    usage = shlex.join(["reweigh", "train", *replace(source, label=label).words(out)])
    if not is_text(path):
        ending = path.suffix if path.suffix in (".parquet", ".feather") else ".csv"
        _check_ending(out, ending, "a copy of this table")
        buffer = io.BytesIO()
        if ending == ".parquet":
            frame = pd.read_parquet(path)
        _replace(account, frame, [str(name) for name in frame.columns].index(label), 0, changes)
        frame = frame.drop(frame.index[sorted(excluded)])
        write = {".parquet": frame.to_parquet, ".feather": frame.to_feather}.get(ending)
        if write is None:
            return Copy(frame.to_csv(index=False), usage)
        write(buffer)
        return Copy(buffer.getvalue(), usage)
    with data_errors(path):
        how = source.dialect()
        _check_ending(out, ".tsv" if how.separator == "\t" else ".csv", "a copy of this table")
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
    frame = frame.drop(frame.index[[row + 1 for row in sorted(excluded)]])
    if spreadsheet_safe:
        frame = frame.map(as_text)
    else:
        warn_of_formulas(frame.itertuples(index=False), out)
    end = _line_end(path)
    text = frame.to_csv(sep=how.separator, quotechar=how.quote, header=False, index=False, lineterminator=end)
    if how.row_names:
        text = text.removeprefix(how.separator)  # the header has no cell for them
    first = f"sep={how.separator}{end}" if how.skip else ""
    return Copy((first + text).encode(how.encoding), usage)


def _line_end(path: Path) -> str:
    """What ends the first line of a text file, plain or compressed."""
    with opened(path) as file:
        return "\r\n" if b"\r" in file.readline() else "\n"


def _replace(account: Account, frame: pd.DataFrame, column: int, first: int, changes: Mapping[int, int]) -> None:
    """Put other labels into a column, each as the table itself writes that class most often."""
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
