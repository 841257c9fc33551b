"""The tables of a run folder, samples.csv and test.csv, as arrays; a column without any value is None."""

import csv
import io
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from reweigh.data.labels.candidates import SEPARATOR
from reweigh.errors import DataError
from reweigh.files import read_bytes

T = TypeVar("T")
TRUTHS = {"True": True, "False": False}


@dataclass(frozen=True)
class Samples:
    """What a run stores about each training sample; every array has shape (N,).

    Attributes:
        row: Row in the user's data.
        given: Given label; -1 where there is none.
        name: File name of each sample; None if samples have none.
        suggested: Label that training suggests.
        quality: Quality of the given label, from 0 (worst) to 1.
        issue: Whether the label looks wrong.
        weight: Mean weight; NaN for a sample never weighed.
        family: Family of the given class.
        loss: Loss of the given label at the end of training.
        true: True label.
        outlier: Whether the sample belongs to no class.
        near_duplicate_of: Name or row of a sample that is nearly the same; empty for none.
        candidates: Candidate labels of each sample, if there were several; ``given`` is then the likeliest.
    """

    row: np.ndarray
    given: np.ndarray
    name: Sequence[str] | None = None
    suggested: np.ndarray | None = None
    quality: np.ndarray | None = None
    issue: np.ndarray | None = None
    weight: np.ndarray | None = None
    family: np.ndarray | None = None
    loss: np.ndarray | None = None
    true: np.ndarray | None = None
    outlier: np.ndarray | None = None
    near_duplicate_of: np.ndarray | None = None
    candidates: Sequence[tuple[int, ...]] | None = None

    def __len__(self) -> int:
        return len(self.row)

    @cached_property
    def labeled(self) -> np.ndarray:
        """Which samples have a label."""
        return self.given >= 0

    @cached_property
    def suspects(self) -> np.ndarray:
        """Indices of the samples whose label looks wrong, the worst first."""
        if self.quality is None or self.issue is None:
            return np.empty(0, int)
        found = np.flatnonzero(self.issue)
        return found[np.argsort(np.nan_to_num(self.quality[found], nan=np.inf), kind="stable")]

    def with_more(self, others: "Samples") -> "Samples":
        """These samples and others, such as those that were held out, of which less may be known."""

        def both(name: str) -> Any:
            first, second = getattr(self, name), getattr(others, name)
            if first is None or (second is None and not isinstance(first, np.ndarray)):
                return None
            if second is None:
                unknown = {"f": np.nan, "b": False, "U": ""}.get(first.dtype.kind, -1)
                second = np.full(len(others), unknown, first.dtype)
            return np.concatenate([first, second]) if isinstance(first, np.ndarray) else [*first, *second]

        return Samples(**{field.name: both(field.name) for field in fields(self)})

    def title(self, index: int) -> str:
        """What a sample is called: its row in the user's data, and its file if it has one."""
        row = str(self.row[index])
        return row if self.name is None else f"{row} ({self.name[index]})"

    @cached_property
    def mistaken(self) -> np.ndarray | None:
        """Like ``wrong``, but for a sample without a label, whether the suggested one is wrong."""
        if self.true is None or self.suggested is None or self.labeled.all():
            return self.wrong
        wrong = (np.where(self.labeled, self.given, self.suggested) != self.true) & (self.true >= 0)
        return wrong if wrong.any() and not wrong.all() else None

    @cached_property
    def wrong(self) -> np.ndarray | None:
        """Which labels are wrong; None if the true labels are unknown, or if all are right or all wrong."""
        if self.true is None:
            return None
        wrong = (self.given != self.true) & (self.true >= 0) & self.labeled
        return wrong if wrong.any() and not wrong.all() else None


@dataclass(frozen=True)
class Tested:
    """Predictions for the test samples; every array has shape (n,).

    Attributes:
        score: Confidence of the model.
    """

    label: np.ndarray
    predicted: np.ndarray
    score: np.ndarray | None = None


def read_samples(path: Path, class_names: Sequence[str]) -> Samples | None:
    """The training samples, in the order of the training set; None if there is no such file.

    Raises:
        DataError: The file is not such a table.
    """
    table = Cells.read(path, ("row", "given_label"), class_names)
    if table is None:
        return None
    return Samples(
        row=table.integers("row"),
        name=table.columns.get("name"),
        given=table.labels("given_label"),
        suggested=table.labels_or_none("suggested_label"),
        quality=table.numbers("label_quality"),
        issue=table.truths("is_label_issue"),
        weight=table.numbers("weight"),
        family=table.integers_or_none("family"),
        loss=table.numbers("loss"),
        true=table.labels_or_none("true_label"),
        outlier=table.truths("is_outlier"),
        near_duplicate_of=table.strings("near_duplicate_of"),
        candidates=table.sets("candidates"),
    )


def read_tested(path: Path) -> Tested | None:
    """The test samples; None if the run stores none.

    Raises:
        DataError: The file is not such a table.
    """
    table = Cells.read(path, ("label", "predicted", "score"))
    if table is None:
        return None
    return Tested(table.integers("label"), table.integers("predicted"), table.numbers("score"))


@dataclass(frozen=True)
class Cells:
    """The cells of a CSV file by column.

    Attributes:
        class_names: Names of the classes, in the order of their numbers.
    """

    path: Path
    columns: Mapping[str, Sequence[str]]
    class_names: Sequence[str] = ()

    @classmethod
    def read(cls, path: Path, needed: Sequence[str], class_names: Sequence[str] = ()) -> "Cells | None":
        """The table of a file; None if there is no file, or no row in it."""
        if not path.is_file():
            return None
        try:
            text = read_bytes(path).decode("utf-8", "surrogateescape")  # file names as they were written
            header, *rows = list(csv.reader(io.StringIO(text, newline=""), strict=True)) or [[]]
            columns = dict(zip(header, zip(*rows, strict=True), strict=True)) if rows else dict.fromkeys(header, ())
        except (ValueError, csv.Error, OSError) as error:
            if isinstance(error, DataError):
                raise
            raise DataError(f"{path}: cannot be read as a table ({error})") from error
        if absent := [name for name in needed if name not in columns]:
            raise DataError(
                f"{path}: no column {', '.join(map(repr, absent))}; is this file the one that the run wrote?"
            )
        return cls(path, columns, class_names) if rows else None

    def numbers(self, name: str) -> np.ndarray | None:
        """A column of numbers, NaN where a cell is empty; None if there is no such column or no number in it."""
        found = [self._parse(name, row, cell, float, "a number") for row, cell in enumerate(self.columns.get(name, ()))]
        numbers = np.array([math.nan if value is None else value for value in found])
        return None if np.isnan(numbers).all() else numbers

    def integers(self, name: str) -> np.ndarray:
        """A column of whole numbers, -1 where a cell is empty."""
        found = [
            self._parse(name, row, cell, _integer, "a whole number") for row, cell in enumerate(self.columns[name])
        ]
        return np.array([-1 if value is None else value for value in found], np.int64)

    def integers_or_none(self, name: str) -> np.ndarray | None:
        """The same; None if there is no such column, or nothing in it."""
        return self.integers(name) if any(self.columns.get(name, ())) else None

    def labels(self, name: str) -> np.ndarray:
        """A column of class names as class numbers, -1 where a cell is empty."""
        cells = self.columns[name]
        found = [self._parse(name, row, cell, self._number, "the name of a class") for row, cell in enumerate(cells)]
        return np.array([-1 if value is None else value for value in found], np.int64)

    def labels_or_none(self, name: str) -> np.ndarray | None:
        """The same; None if there is no such column, or nothing in it."""
        return self.labels(name) if any(self.columns.get(name, ())) else None

    def sets(self, name: str) -> list[tuple[int, ...]] | None:
        """A column of several class names per cell as class numbers; None if there is no such column."""
        if name not in self.columns:
            return None

        def numbers(cell: str) -> tuple[int, ...]:
            return tuple(map(self._number, cell.split(SEPARATOR)))

        cells = self.columns[name]
        return [self._parse(name, row, cell, numbers, "names of classes") or () for row, cell in enumerate(cells)]

    @cached_property
    def _number(self) -> Callable[[str], int]:
        return {name: number for number, name in enumerate(self.class_names)}.__getitem__

    def truths(self, name: str) -> np.ndarray | None:
        """A column of True and False, an empty cell is False; None if there is no such column, or nothing in it."""
        cells = self.columns.get(name, ())
        found = [self._parse(name, row, cell, TRUTHS.__getitem__, "True or False") for row, cell in enumerate(cells)]
        return np.array([value or False for value in found]) if any(cells) else None

    def strings(self, name: str) -> np.ndarray | None:
        """A column of strings; None if there is no such column."""
        return np.array(self.columns[name], dtype=str) if name in self.columns else None

    def _parse(self, name: str, row: int, cell: str, kind: Callable[[str], T], what: str) -> T | None:
        try:
            return kind(cell) if cell else None
        except (ValueError, KeyError, OverflowError):
            raise DataError(
                f"{self.path}: column {name!r}, row {row + 1}: got {cell!r}; should be {what}, or empty"
            ) from None


def _integer(cell: str) -> int:
    """A whole number that fits into 64 bits."""
    return int(np.int64(int(cell)))
