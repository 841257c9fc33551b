"""The user's files as one object: where they are and how they are written, found out once and read once."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reweigh.data.labels.label_file import SEPARATOR
from reweigh.data.tables.frames import Dialect, dialect_of, is_table, read_frame, tables_at
from reweigh.data.tables.numbers import gap_option
from reweigh.errors import DataError
from reweigh.names import listed, suggestion

if TYPE_CHECKING:
    import pandas as pd

    from reweigh.data.tables.decide import ColumnAs, Kind

USUAL_LABELS = ("label", "labels", "target", "class", "y")
MAX_OPEN = 4  # sources whose tables stay in memory: training and test data, and those of a comparison


@dataclass(frozen=True)
class Source:
    """Training data of the user's own: files, and how they are to be read.

    >>> Source(Path("sales.csv"), label="kind", sep="|", columns=(("note", "drop"),)).words()
    ['--data', 'sales.csv', '--label', 'kind', '--sep', '|', '--drop', 'note']

    Attributes:
        path: The data: a file, a folder, or a pattern that matches several tables.
        label: Column or array that holds the labels; one with a usual name by default. Several columns of a table,
            separated by commas, are the labels of several labelers.
        labels: Label file that replaces the labels in the data.
        columns: Kinds of some columns of a table, as pairs of name and kind.
        gaps: Numbers of some columns that mean that there is no value, as pairs of name and numbers.
        join_labels: Whether spellings of a label count as one class.
        separator: String between the candidate labels of a sample; None if each sample has one label.
        unlabeled: Whether samples may be without a label.
        group: Column that says which samples belong together.
        votes: File with labels by several labelers, which replaces the labels in the data.
    """

    path: Path
    label: str | None = None
    labels: Path | None = None
    true_label: str | None = None
    columns: "tuple[tuple[str, Kind], ...]" = ()
    gaps: tuple[tuple[str, tuple[float, ...]], ...] = ()
    sep: str | None = None
    encoding: str | None = None
    join_labels: bool = False
    separator: str | None = None
    unlabeled: bool = False
    group: str | None = None
    votes: Path | None = None
    _known: dict[Any, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_known": {}}  # another process reads the files itself

    @property
    def is_table(self) -> bool:
        """Whether the data are a table."""
        return is_table(self.path)

    @property
    def files(self) -> list[Path]:
        """The files or folders themselves."""
        return [self.path, *(file for file in (self.labels, self.votes) if file)]

    def once(self, key: Any, make: Any) -> Any:
        """What ``make`` returns, the same object each time."""
        if key not in self._known:
            self._known[key] = make()
        return self._known[key]

    def frame(self, split: str = "train") -> "pd.DataFrame":
        """The table with all its rows, cells of text files as strings; read once, so copy it before you change it."""
        files = tuple(tables_at(self.path, split))
        return self.once(files, lambda: read_frame(self.path, self.sep, self.encoding, split))

    def dialect(self) -> Dialect:
        """How the text of a table is written."""
        return self.once("dialect", lambda: dialect_of(self.path, self.sep, self.encoding))

    def label_columns(self) -> list[str]:
        """The columns of the table with labels of several labelers; empty if there is one label per sample."""
        names = [] if self.label is None else [name.strip() for name in self.label.split(",")]
        if len(names) < 2 or self.label in self.frame().columns:
            return []
        if len({*names}) < len(names):
            raise DataError(f"{self.path}: label {self.label!r} names a column twice; name each labeler once", "label")
        return [label_column(self.frame(), name, str(self.path)) for name in names]

    def label_column(self) -> str | None:
        """The column of the table that holds the labels; None if they are those of several labelers."""
        if self.votes is not None or self.label_columns():
            return None
        return label_column(self.frame(), self.label, str(self.path))

    def words(self, path: Path | None = None, labels: Path | None = None) -> list[str]:
        """The options of a command that reads the data in the same way."""
        words = ["--data", str(path or self.path)]
        options = {name: getattr(self, name) for name in ("label", "labels", "sep", "encoding", "group", "votes")}
        options["labels"] = labels or self.labels
        words += [word for name, value in options.items() if value for word in (f"--{name}", str(value))]
        words += [word for name, kind in self.columns if kind == "drop" for word in ("--drop", name)]
        words += ["--join-labels"] if self.join_labels else []
        words += ["--candidates"] if self.separator else []
        words += [f"data.columns.{name}={kind}" for name, kind in self.columns if kind != "drop"]
        words += [gap_option(name, values) for name, values in self.gaps]
        words += [f"data.separator={self.separator}"] if self.separator not in (None, SEPARATOR) else []
        words += [f"data.true_label={self.true_label}"] if self.true_label else []
        return words + (["data.unlabeled=true"] if self.unlabeled else [])


FIELDS = tuple(each.name for each in fields(Source) if each.init)


def open_source(path: str | Path, *, columns: "Mapping[str, Kind | ColumnAs] | None" = None, **options: Any) -> Source:
    """The source of files; the same object for the same options until a file changes, so that it is read once."""
    kinds, gaps = split_columns(columns or {})
    source = Source(Path(path), columns=kinds, gaps=gaps, **options)
    files = [*tables_at(source.path), *source.files[1:]] if source.is_table else []
    status = [file.stat() for file in files if file.exists()]
    key = (source, *((each.st_ino, each.st_size, each.st_mtime_ns) for each in status))
    if len(_OPEN) >= MAX_OPEN and key not in _OPEN:
        del _OPEN[next(iter(_OPEN))]
    return _OPEN.setdefault(key, source)


_OPEN: dict[Any, Source] = {}


def split_columns(columns: "Mapping[str, Kind | ColumnAs]") -> tuple[Any, Any]:
    """The kind and the gaps of each column that has any, as pairs."""
    kinds, gaps = [], []
    for name, given in columns.items():
        about = {"kind": given} if isinstance(given, str) else given
        if "kind" in about:
            kinds.append((name, about["kind"]))
        found = about.get("gap", [])
        found = found if isinstance(found, list | tuple) else [found]
        numbers = all(isinstance(value, int | float) for value in found)
        if not about or about.keys() - {"kind", "gap"} or not numbers or ("gap" in about and not found):
            raise DataError(
                f"data.columns.{name}: got {dict(about)}; give a kind, such as number, or a number that means a gap: "
                f"data.columns.{name}.gap=-9999"
            )
        if found:
            gaps.append((name, tuple(float(value) for value in found)))
    return tuple(kinds), tuple(gaps)


def close_sources() -> None:
    """Forget tables that were read, which may be large; a source reads its files again when it is asked."""
    for source in _OPEN.values():
        source._known.clear()
    _OPEN.clear()


def label_column(frame: "pd.DataFrame", wanted: str | None, what: str) -> str:
    """The column called ``wanted``, or the one with a usual name."""
    columns = [str(name) for name in frame.columns]
    if wanted is None:
        usual = [name for name in USUAL_LABELS if name in columns]
        if not usual:
            raise absent(None, columns, "label", what)
        for other in usual[1:]:
            pairs = set(zip(frame[usual[0]].tolist(), frame[other].tolist(), strict=True))
            if len(pairs) < len(frame) and all(len(set(side)) == len(pairs) for side in zip(*pairs, strict=True)):
                raise DataError(
                    f"{what}: columns {usual[0]!r} and {other!r} hold the same labels; drop one, or a model copies it"
                )
        return usual[0]
    if wanted not in columns:
        raise absent(wanted, columns, "label", what)
    return wanted


def absent(wanted: str | None, columns: Iterable[object], role: str, what: object) -> DataError:
    """The error for data without the wanted column, or without one that is known to hold this."""
    names = [str(name) for name in columns]
    if wanted is None:
        return DataError(f"{what}: which column is the {role}? There are: {listed(names)}. Name one", role)
    hint = " With only one column, the separator is probably another one (--sep)." if len(names) == 1 else ""
    near = suggestion(wanted, names)
    return DataError(f"{what}: no column {wanted!r} for the {role}; there are: {listed(names)}.{near}{hint}")
