"""The tables of a run folder, samples.csv and test.csv, as arrays; a column without any value is None."""

import csv
import io
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from reweigh.data.labels.label_file import SEPARATOR
from reweigh.errors import DataError
from reweigh.files import read_bytes

OR_NONE = ", or none of these"  # classes


@dataclass(frozen=True)
class Samples:
    """What a run stores about each training sample; every array has shape (N,).

    Attributes:
        given: Given label; -1 where there is none.
        name: File name of each sample; None if samples have none.
        weight: Mean weight; NaN for a sample never weighed.
        loss: Loss of the given label at the end of training.
        outlier: Whether the sample belongs to no class.
        near_duplicate_of: Name or row of a sample that is nearly the same; empty for none.
        candidates: Candidate labels of each sample, if there were several; ``given`` is then the likeliest.
        votes: Who said what about each sample, if there were several labelers; ``given`` is then their consensus.
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
    votes: Sequence[str] | None = None

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

    def suggestion(self, index: int, name: Callable[[int], str]) -> str:
        """The class that is suggested, by its name: an outlier may belong to none."""
        if self.suggested is None:
            return ""
        alone = self.outlier is not None and bool(self.outlier[index])
        return name(int(self.suggested[index])) + (OR_NONE if alone else "")

    def issue_table(self, class_names: Sequence[str]) -> list[tuple[str, ...]]:
        """A header, and one row per label that looks wrong, the worst first."""
        assert self.suggested is not None
        assert self.quality is not None
        weights, outlier, near = self.weight, self.outlier, self.near_duplicate_of
        rows = [
            (
                str(self.row[index]),
                *(self.name[index : index + 1] if self.name else ()),
                class_names[int(self.given[index])],
                class_names[int(self.suggested[index])],
                f"{self.quality[index]:.6g}",
                "" if weights is None else f"{weights[index]:.6g}".replace("nan", ""),
                *(() if outlier is None or near is None else (str(bool(outlier[index])), str(near[index]))),
            )
            for index in self.suspects.tolist()
        ]
        named = ("name",) if self.name else ()
        beside = () if outlier is None or near is None else ("is_outlier", "near_duplicate_of")
        return [("row", *named, "given_label", "suggested_label", "label_quality", "weight", *beside), *rows]

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
        probability: That of the predicted class.
        right: What the prediction counts on true labels, as estimated; 1 or 0 where labels count as right.
    """

    label: np.ndarray
    predicted: np.ndarray
    score: np.ndarray | None = None
    probability: np.ndarray | None = None
    right: np.ndarray | None = None


class Kind(NamedTuple):
    """What the cells of a column hold."""

    parse: Callable[[str], Any]
    what: str
    empty: Any


NUMBER = Kind(float, "a number", math.nan)
INTEGER = Kind(lambda cell: int(np.int64(int(cell))), "a whole number", -1)
TRUTH = Kind({"True": True, "False": False}.__getitem__, "True or False", False)


def read_samples(path: Path, class_names: Sequence[str]) -> Samples | None:
    """The training samples, in the order of the training set; None if there is no such file."""
    table = Cells.read(path, ("row", "given_label"))
    if table is None:
        return None
    number = {name: number for number, name in enumerate(class_names)}.__getitem__
    label = Kind(number, "the name of a class", -1)
    several = Kind(lambda cell: tuple(map(number, cell.split(SEPARATOR))), "names of classes", ())
    near = table.columns.get("near_duplicate_of")
    return Samples(
        row=np.array(table.parsed("row", INTEGER), np.int64),
        name=table.columns.get("name"),
        given=np.array(table.parsed("given_label", label), np.int64),
        suggested=table.array("suggested_label", label),
        quality=table.array("label_quality", NUMBER),
        issue=table.array("is_label_issue", TRUTH),
        weight=table.array("weight", NUMBER),
        family=table.array("family", INTEGER),
        loss=table.array("loss", NUMBER),
        true=table.array("true_label", label),
        outlier=table.array("is_outlier", TRUTH),
        near_duplicate_of=None if near is None else np.array(near, dtype=str),
        candidates=table.parsed("candidates", several) if "candidates" in table.columns else None,
        votes=table.columns.get("votes"),
    )


class Labeler(NamedTuple):
    """A labeler, as a run knows it; see ``reweigh.issues.consensus.labeler_table``."""

    labeler: str
    votes: float
    accuracy: float
    low: float
    high: float
    agreement: float
    trust: float
    mistakes: str
    repeats: str

    def in_words(self) -> list[str]:
        """The cells of a table: name, votes, accuracy, limits, agreement, and what is to be known besides."""
        shares = [f"{each:.1%}" if math.isfinite(each) else "-" for each in (self.accuracy, self.agreement)]
        limits = f"{self.low:.1%} to {self.high:.1%}" if math.isfinite(self.low) else "-"
        notes = [self.mistakes, f"repeats, or is repeated by, {self.repeats}" if self.repeats else ""]
        return [self.labeler, f"{self.votes:.0f}", shares[0], limits, shares[1], "; ".join(filter(None, notes)) or "-"]


LABELER_COLUMNS = ("labeler", "votes", "accuracy", "90% limits", "agrees with consensus", "mistakes")


def read_labelers(path: Path) -> list[Labeler]:
    """The labelers of a run, those with the most votes first; empty if there was one label per sample."""
    table = Cells.read(path, Labeler._fields)
    if table is None:
        return []
    strings = {name: table.columns[name] for name in ("labeler", "mistakes", "repeats")}
    columns = [strings.get(name) or table.parsed(name, NUMBER) for name in Labeler._fields]
    return sorted(map(Labeler._make, zip(*columns, strict=True)), key=lambda each: -each.votes)


def read_tested(path: Path) -> Tested | None:
    """The test samples; None if the run stores none."""
    table = Cells.read(path, ("label", "predicted", "score"))
    if table is None:
        return None
    label, predicted = (np.array(table.parsed(name, INTEGER), np.int64) for name in ("label", "predicted"))
    return Tested(label, predicted, *(table.array(name, NUMBER) for name in ("score", "probability", "right")))


@dataclass(frozen=True)
class Cells:
    """The cells of a CSV file by column."""

    path: Path
    columns: Mapping[str, Sequence[str]]

    @classmethod
    def read(cls, path: Path, needed: Sequence[str]) -> "Cells | None":
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
        return cls(path, columns) if rows else None

    def parsed(self, name: str, kind: Kind) -> list[Any]:
        """The values of a column."""
        values = []
        for row, cell in enumerate(self.columns[name], start=1):
            try:
                values.append(kind.parse(cell) if cell else kind.empty)
            except (ValueError, KeyError, OverflowError):
                where = f"{self.path}: column {name!r}, row {row}"
                raise DataError(f"{where}: got {cell!r}; should be {kind.what}, or empty") from None
        return values

    def array(self, name: str, kind: Kind) -> np.ndarray | None:
        """The values of a column, shape (N,); None if there is no such column, or nothing in it."""
        return np.array(self.parsed(name, kind)) if any(self.columns.get(name, ())) else None
