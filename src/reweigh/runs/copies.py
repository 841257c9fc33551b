"""A copy of the user's data with other labels: the same table, a folder of images by class, or a label file."""

import io
import os
import shlex
import shutil
from collections import Counter
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from reweigh.data import Dataset
from reweigh.data.parts import image_paths, split_folder
from reweigh.data.readers import image_list, reader_of
from reweigh.data.source import Source
from reweigh.data.tables.frames import SUFFIXES, data_errors, is_text, tables_at
from reweigh.errors import DataError
from reweigh.files.cells import as_text, to_csv, warn_of_formulas
from reweigh.files.limits import opened
from reweigh.files.whole import writing
from reweigh.fit.source import check_there, read_training_set, source_of
from reweigh.runs.read import Account


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
    label = source.label_column()
    assert label is not None
    usage = shlex.join(["reweigh", "train", *replace(source, label=label).words(out)])
    if not is_text(path):
        ending = path.suffix if path.suffix in (".parquet", ".feather") else ".csv"
        _check_ending(out, ending, "a copy of this table")
        frame = pd.read_parquet(path) if ending == ".parquet" else source.frame().copy()
        _replace(account, frame, [str(name) for name in frame.columns].index(label), 0, changes)
        frame, buffer = frame.drop(frame.index[sorted(excluded)]), io.BytesIO()
        if ending == ".csv":
            return Copy(frame.to_csv(index=False), usage)
        (frame.to_parquet if ending == ".parquet" else frame.to_feather)(buffer)
        return Copy(buffer.getvalue(), usage)
    with data_errors(path):
        how = source.dialect()
        _check_ending(out, ".tsv" if how.separator == "\t" else ".csv", "a copy of this table")
        frame = pd.read_csv(  # the header is row 0
            path,
            sep=how.separator,
            encoding=how.encoding,
            quotechar=how.quote,
            header=None,
            names=range(len(how.header) + 1),  # rows may end with a separator
            dtype=str,
            na_filter=False,
            index_col=False,
        ).fillna("")
    if (frame.iloc[:, -1] == "").all():
        frame = frame.iloc[:, :-1]
    _replace(account, frame, [name.strip() for name in frame.iloc[0].tolist()].index(label), 1, changes)
    frame = frame.drop(frame.index[[row + 1 for row in sorted(excluded)]])
    if spreadsheet_safe:
        frame = frame.map(as_text)
    else:
        warn_of_formulas(frame.itertuples(index=False), out)
    with opened(path) as file:
        end = "\r\n" if b"\r" in file.readline() else "\n"
    text = frame.to_csv(sep=how.separator, quotechar=how.quote, header=False, index=False, lineterminator=end)
    return Copy(text.encode(how.encoding), usage)


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


def is_folder_of_classes(source: Source) -> bool:
    """Whether the labels of the data are the names of the folders that images lie in."""
    return source.labels is None and source.path.is_dir() and reader_of(source.path) is image_list.FOLDER


def as_folder(source: Source | None, out: Path) -> bool:
    """Whether a corrected copy of the data becomes a folder: they are one, and its name has no ending."""
    return source is not None and not out.suffix and is_folder_of_classes(source)


def moves_file(out: Path) -> Path:
    """The list of images that lie elsewhere in a corrected folder; beside it, since it is not an image."""
    return out.with_name(f"{out.name}-moves.csv")


def check_room(out: Path, overwrite: bool) -> None:
    """Raise a DataError if a folder cannot be written, or only over something that was not written here."""
    if not out.exists() and not out.is_symlink():
        return
    if not overwrite:
        raise DataError(f"{out}: already exists; replace it with --overwrite, or choose another name")
    if out.is_symlink() or not out.is_dir() or not moves_file(out).is_file():
        raise DataError(
            f"{out}: not a corrected folder of before (no {moves_file(out).name} beside it), so it is not replaced; "
            "delete it yourself, or choose another name"
        )


def destinations(folder: Path, changes: Mapping[str, str], excluded: Collection[str]) -> dict[Path, Path]:
    """Where each file of a folder of classes goes, both relative to the folder.

    Files that change their class keep their name, unless the class has a file of that name already.

    Args:
        folder: The folder, one sub-folder per class; of parts ``train`` and ``test``, the first counts.
        changes: New class of an image, by its name relative to the folder of classes.
    """
    root = split_folder(folder, "train")
    found: dict[Path, Path] = {}
    moved: dict[Path, str] = {}
    for file in image_paths(folder):
        here = file.relative_to(folder)
        name = str(file.relative_to(root)) if file.is_relative_to(root) else ""
        if name in changes:
            moved[here] = changes[name]
        elif name not in excluded:
            found[here] = here
    taken = {*found.values()}
    for here, label in moved.items():
        name = (folder / here).relative_to(root)
        inside = Path(*name.parts[1:])
        there, number = root.relative_to(folder) / label / inside, 1
        while there in taken:
            again = f"{inside.stem}-from-{name.parts[0]}{f'-{number}' if number > 1 else ''}{inside.suffix}"
            there, number = root.relative_to(folder) / label / inside.with_name(again), number + 1
        taken.add(there)
        found[here] = there
    return found


def write_folder(folder: Path, files: Mapping[Path, Path], out: Path, links: bool = False) -> None:
    """Write files to other places in a new folder, completely or not at all; a folder of before is replaced.

    Args:
        files: Place of each file in ``folder`` and in ``out``.
    """
    out = out.absolute()
    part, before = (out.with_name(f".{out.name}.{os.getpid()}.{what}") for what in ("part", "before"))
    with writing(out):
        try:
            part.mkdir()
            for here, there in files.items():
                target = part / there
                target.parent.mkdir(parents=True, exist_ok=True)
                if links:
                    target.symlink_to((folder / here).resolve())
                else:
                    shutil.copy2(folder / here, target)
            if out.exists():
                out.rename(before)
            part.rename(out)
        except BaseException:
            shutil.rmtree(part, ignore_errors=True)
            if before.exists() and not out.exists():
                with suppress(OSError):
                    before.rename(out)
            raise
        shutil.rmtree(before, ignore_errors=True)
