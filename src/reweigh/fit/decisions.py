"""What people decided about labels: an append-only file, and how it changes a dataset."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import torch

from reweigh.data import Dataset
from reweigh.errors import DataError
from reweigh.files import ledger
from reweigh.fit.returned import read_returned
from reweigh.names import plural
from reweigh.training import Run

logger = logging.getLogger(__name__)
# Why a sample is left out of training and of corrected copies.
EXCLUSIONS = {"no-class": "belongs to no class", "unusable": "unusable", "duplicate": "duplicate of another sample"}


class Decision(NamedTuple):
    """The decision of one person about one label.

    Attributes:
        row: Row of the sample in the data.
        given: Name of the label that was judged.
        label: Name of the right label; None for "not sure", and for a sample to leave out.
        by: Who decided.
        name: Name of the sample, such as a file; empty if it has none.
        at: When, in ISO 8601.
        undo: Whether this takes back the last decision of that person about that row.
        audit: Whether the sample was shown because an audit drew it.
        exclude: Why to leave the sample out, one of ``EXCLUSIONS``; empty to use it.
        action: What decisions that were made together share; one undo takes all of them back.
    """

    row: int
    given: str
    label: str | None
    by: str
    name: str = ""
    at: str = ""
    undo: bool = False
    audit: bool = False
    exclude: str = ""
    action: str = ""

    @property
    def sure(self) -> bool:
        """Whether this says what to do with the sample."""
        return self.label is not None or self.exclude != ""

    @property
    def wrong(self) -> bool | None:
        """Whether the given label is wrong; None if this does not say."""
        if self.label is None:
            return True if self.exclude == "no-class" else None
        return self.label != self.given


class Decisions:
    """The decisions in a file, which several processes may extend.

    ``before_audit`` is what people had agreed on before an audit began, by row; None if none has begun.

    Args:
        path: The file; it need not exist yet.
        count: Number of lines to read from the start, which never change in a file that only grows. None reads all.

    Raises:
        DataError: A line is not a decision.
    """

    def __init__(self, path: Path, count: int | None = None):
        self.path, self._most = path, count
        self._start()
        self.refresh()

    def _start(self) -> None:
        self._place, self.count = ledger.Place(), 0
        self._all: dict[int, dict[str, list[Decision]]] = {}
        self._actions: dict[str, list[tuple[str, dict[int, None]]]] = {}  # by person: each action and its rows
        self.before_audit: dict[int, Decision] | None = None

    def refresh(self) -> bool:
        """Read what was added since; returns whether there was anything."""
        if self.path.is_file() and self.path.stat().st_size < self._place.end:  # put back from a copy
            self._start()
        records, self._place = ledger.read(self.path, self._place)
        left = None if self._most is None else self._most - self.count
        before = self.count
        for record in islice(records, left):
            self.count += 1
            self._count_in(_parsed(record, self.path, self.count))
        return self.count > before

    def _count_in(self, decision: Decision) -> None:
        if decision.audit and self.before_audit is None:
            self.before_audit = self.agreed()
        history = self._all.setdefault(decision.row, {}).setdefault(decision.by, [])
        actions = self._actions.setdefault(decision.by, [])
        if not decision.undo:
            history.append(decision)
            if not actions or not decision.action or actions[-1][0] != decision.action:
                actions.append((decision.action, {}))
            actions[-1][1][decision.row] = None
        elif history:
            history.pop()
            place = next(each for each in reversed(range(len(actions))) if decision.row in actions[each][1])
            del actions[place][1][decision.row]
            if not actions[place][1]:
                del actions[place]

    def add(self, *decisions: Decision) -> None:
        """Write decisions to disk, and only then count them."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        ledger.append(self.path, *({**decision._asdict(), "at": now} for decision in decisions))
        self.refresh()

    def last_action(self, by: str) -> list[int]:
        """Rows of the last action of a person that was not undone; empty if there is none."""
        actions = self._actions.get(by)
        return list(actions[-1][1]) if actions else []

    def of(self, row: int) -> dict[str, Decision]:
        """The last decision of each person about a row."""
        return {by: history[-1] for by, history in list(self._all.get(row, {}).items()) if history}

    def history(self, row: int, by: str) -> list[Decision]:
        """What a person decided about a row, and did not take back."""
        return list(self._all.get(row, {}).get(by, ()))

    def rows(self) -> Iterator[tuple[int, dict[str, Decision]]]:
        """Every row that somebody decided about, with the last decision of each."""
        for row in list(self._all):  # another thread may add decisions meanwhile
            if found := self.of(row):
                yield row, found

    def agreed(self) -> dict[int, Decision]:
        """By row, the decision that nobody contradicts; "not sure" contradicts nobody."""
        return {row: found for row, each in self.rows() if (found := agreement(each)) is not None}


def agreement(decisions: Mapping[str, Decision]) -> Decision | None:
    """What people say about one row; None if they disagree, or nobody is sure."""
    sure = [decision for decision in decisions.values() if decision.sure]
    return sure[0] if len({decision.label for decision in sure}) == 1 else None


def disagree(decisions: Mapping[str, Decision]) -> bool:
    """Whether two people say different labels, or one of them to leave the sample out."""
    return len({decision.label for decision in decisions.values() if decision.sure}) > 1


def _parsed(record: Mapping[str, Any], path: Path, number: int) -> Decision:
    try:
        found = Decision(**record)
        fine = isinstance(found.row, int) and all(
            isinstance(value, str) for value in (found.given, found.by, found.name, found.exclude, found.action)
        )
        if not fine or not isinstance(found.label, str | None):
            raise ValueError("a value has another type")
        if found.exclude and (found.exclude not in EXCLUSIONS or found.label is not None):
            raise ValueError(f"exclude is {found.exclude!r}; allowed, without a label: {', '.join(EXCLUSIONS)}")
    except (ValueError, TypeError) as error:
        raise DataError(
            f"{path}, line {number}: not a decision ({error}); restore the file from a copy, or remove this line and "
            "all lines below it"
        ) from None
    return found


def decisions_file(path: str | Path) -> Path:
    """The file with the decisions of a run.

    Args:
        path: The folder of a run, the file itself, or a file that another tool wrote (``fit.returned``).
    """
    file = Path(path)
    if file.is_dir():
        file = Run(file).decisions
        if not file.is_file():
            raise DataError(
                f"{path}: nobody has reviewed this run yet (no {file.name}); do so with: reweigh review {path}"
            )
    if not file.is_file():
        raise DataError(f"{path}: there is no such file or folder; give the folder of a run that was reviewed")
    return file if _is_ledger(file) else _imported(file)


def _is_ledger(file: Path) -> bool:
    with open(file, "rb") as opened:
        return file.suffix == ".jsonl" and (not (line := opened.readline()) or b'"sum": "' in line)


def _imported(file: Path) -> Path:
    """A file of decisions beside one that another tool wrote, with what people chose there.

    What it chose earlier and no longer does is taken back.
    """
    beside = file.with_name(f"{file.name}.decisions.jsonl")
    decisions = {(each["row"], each["by"]): Decision(**each) for each in read_returned(file)}
    found = Decisions(beside)
    known = {(row, by): its._replace(at="") for row, each in found.rows() for by, its in each.items()}
    new = [each for key, each in decisions.items() if known.get(key) != each]
    for row, by in known.keys() - decisions.keys():
        new += [each._replace(at="", undo=True) for each in found.history(row, by)]
    if new:
        found.add(*new)
    return beside


def with_decisions(parts: Sequence[Dataset], path: str | Path, count: int | None = None) -> list[Dataset]:
    """Datasets with the labels that people decided on, which count as trusted, and without what they left out.

    Args:
        parts: Parts of one source, such as training and test part, which share its rows.
        count: Number of lines to use, from the start of the file; None uses all.
    """
    file = decisions_file(path)
    decisions = Decisions(file, count)
    if count is not None and decisions.count < count:
        raise DataError(
            f"{file}: {decisions.count:,} decisions, but there were {count:,} when the run began; restore the file "
            "from a copy"
        )
    agreed = decisions.agreed()
    if not agreed:
        raise DataError(f"{file}: contains no usable decision; review some samples first")
    done = [_relabeled(part, agreed) for part in parts]
    mistakes = [mistake for each in done for mistake in each.mistakes]
    if mistakes:
        raise DataError(
            f"{file}: of {plural(len(agreed), 'decision')}, {len(mistakes):,} cannot be used, since the data are not "
            f"those of the review: {'; '.join(mistakes[:3])}. Train on the data that were reviewed, or review a new run"
        )
    used, changed, left_out = (sum(column) for column in zip(*(each[1:4] for each in done), strict=True))
    if used < len(agreed):
        raise DataError(
            f"{file}: decisions about {plural(len(agreed) - used, 'row')} that the data do not have; train on the data "
            "that were reviewed"
        )
    contested = sum(disagree(each) for _, each in decisions.rows())
    logger.info(
        "reviewed: %d labels are trusted, %d of them changed%s%s",
        used - left_out,
        changed,
        f"; {left_out} samples are left out" if left_out else "",
        f"; {contested} on which reviewers disagree stay as they are" if contested else "",
    )
    return [each.dataset for each in done]


class _Relabeled(NamedTuple):
    dataset: Dataset
    used: int
    changed: int
    left_out: int
    mistakes: list[str]


def _relabeled(dataset: Dataset, agreed: Mapping[int, Decision]) -> _Relabeled:
    """A data set with decided labels, and what does not fit: the data hold neither the label that was judged nor the
    one that was decided on, or have another sample in that row."""
    number: dict[str, Any] = {name: label for label, name in enumerate(dataset.class_names)}
    origin = range(len(dataset)) if dataset.origin is None else dataset.origin.tolist()
    labels, uncorrected = dataset.labels.clone(), dataset.labels.clone()
    trusted, kept = torch.zeros(len(dataset), dtype=torch.bool), torch.ones(len(dataset), dtype=torch.bool)
    mistakes: list[str] = []
    for index, row in enumerate(origin):
        if (decision := agreed.get(row)) is None:
            continue
        label = int(labels[index])
        given = dataset.class_names[label] if label >= 0 else ""
        called = dataset.reading.names[row] if dataset.reading.names else ""
        if called != decision.name:
            mistakes.append(f"row {row} is {called or 'without a name'!r}, was {decision.name!r}")
        elif given not in (decision.given, decision.label):
            mistakes.append(f"row {row} has the label {given!r}, had {decision.given!r}")
        elif decision.label is not None and decision.label not in number:
            mistakes.append(f"row {row}: there is no longer a class {decision.label!r}")
        if decision.label is None:
            kept[index] = False
            continue
        labels[index], uncorrected[index] = (number.get(name, label) for name in (decision.label, decision.given))
        trusted[index] = True
    changed = int((labels != dataset.labels).sum())
    decided = replace(dataset, labels=labels, trusted=trusted, uncorrected=uncorrected)
    left_out = int((~kept).sum())
    return _Relabeled(
        decided.subset(kept) if left_out else decided, int(trusted.sum()) + left_out, changed, left_out, mistakes
    )
