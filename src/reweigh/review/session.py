"""One reviewer at work: which samples come next, what each shows, and what has been decided."""

import math
from collections.abc import Callable, Mapping
from threading import Lock
from typing import Any

import numpy as np

from reweigh.errors import DataError
from reweigh.fit.decisions import Decision, Decisions, agreement, disagree
from reweigh.issues.remaining import remaining
from reweigh.review.similar import Similar
from reweigh.review.subject import Subject
from reweigh.runs.audit import RunAudit

LARGE, SMALL = 768, 160  # pixels of the sample that is judged, and of those beside it
COLUMNS = 3  # values of a similar sample: those that tell most about the one that is judged
LETTERS = 20_000  # characters of a value
SHOWN = {"suspicious", "all"}
REVIEW_ORDER_SEED = 20_220_205  # its own: a small one may have chosen the wrong labels of an experiment too
STATES = {"open", "decided", "unsure", "disputed", "any"}


def doubtful(quality: np.ndarray, suggested: np.ndarray) -> np.ndarray:
    """The worst label first: finds the most wrong labels with the fewest looks."""
    return np.argsort(quality, kind="stable")


def informative(quality: np.ndarray, suggested: np.ndarray) -> np.ndarray:
    """The least certain label first, the classes in turn: what training cannot find out by itself.

    A label that is almost certainly wrong, or right, is already treated as such. Classes are those that training
    suggests, so that each of them gets trusted samples.
    """
    certain = np.argsort(np.abs(quality - 0.5), kind="stable")
    grouped = certain[np.argsort(suggested[certain], kind="stable")]
    sizes = np.bincount(suggested)
    place = np.arange(len(grouped)) - np.repeat(np.cumsum(sizes) - sizes, sizes)  # 0, 1, ... within each class
    return grouped[np.lexsort((np.abs(quality[grouped] - 0.5), place))]


def random(quality: np.ndarray, suggested: np.ndarray) -> np.ndarray:
    """Any label: what is found is a fair sample of the data."""
    return np.random.default_rng(REVIEW_ORDER_SEED).permutation(len(quality))


# Each: quality of the given label and suggested class, shape (N,), -> indices of the samples, shape (N,).
ORDERS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "doubtful": doubtful,
    "informative": informative,
    "random": random,
}


class Session:
    """What the page asks for; a DataError if there is no such sample, class or value.

    Args:
        reviewer: Name under which decisions are written.
        audit: Number of labels to audit, instead of a review: samples drawn at random are shown without what training
            thinks of them, which would bias the reviewer. None for a review.
    """

    def __init__(self, subject: Subject, reviewer: str, audit: int | None = None):
        if audit is not None and audit < 1:
            raise DataError(f"audit: got {audit}; give the number of labels to decide about, such as 100")
        self.subject, self.reviewer, self.audit = subject, reviewer, audit
        self._begun: RunAudit | None = None
        self.decisions = Decisions(subject.file)
        self._similar = Similar(subject.dataset, subject.front)
        self._lock = Lock()
        samples = subject.samples
        assert samples.suggested is not None
        assert samples.issue is not None
        self._given, self._suggested, self._issue = samples.given, samples.suggested, samples.issue
        self._rows = samples.row.tolist()
        self._index = {row: index for index, row in enumerate(self._rows)}
        self._number = {name: label for label, name in enumerate(subject.class_names)}
        self._orders: dict[str, np.ndarray] = {}

    def start(self) -> dict[str, Any]:
        """What the page needs once."""
        samples, subject = self.subject.samples, self.subject
        pairs: dict[tuple[int, int], int] = {}
        for given, suggested in zip(self._given[self._issue], self._suggested[self._issue], strict=True):
            pairs[int(given), int(suggested)] = pairs.get((int(given), int(suggested)), 0) + 1
        return {
            "title": subject.title,
            "reviewer": self.reviewer,
            "classes": list(subject.class_names),
            "sizes": np.bincount(self._given[samples.labeled], minlength=len(subject.class_names)).tolist(),
            "pairs": [[*pair, count] for pair, count in sorted(pairs.items(), key=lambda each: -each[1])[:200]],
            "orders": {name: (order.__doc__ or "").split(":")[0].strip().rstrip(".") for name, order in ORDERS.items()},
            "images": subject.looks is not None and subject.looks.is_images,
            "trouble": subject.trouble,
            "audit": self.audit is not None,
            "progress": self.progress(),
        }

    def queue(self, wanted: Mapping[str, str]) -> list[int]:
        """Indices of the samples to show, in order.

        Args:
            wanted: ``order``; ``show`` suspicious or all; ``state`` of decision; ``given`` and ``suggested`` class; and
                the largest ``quality``. What is absent does not restrict.
        """
        with self._lock:
            self.decisions.refresh()
        if self.audit is not None:
            drawn, is_open = self._run_audit().queue[: self.audit], self._in_state("open")
            return drawn[is_open[drawn]].tolist()
        order = _one_of("order", wanted.get("order", "doubtful"), ORDERS)
        show = _one_of("show", wanted.get("show", "suspicious"), SHOWN)
        state = _one_of("state", wanted.get("state", "open"), STATES)
        quality = self.subject.quality
        if order not in self._orders:
            self._orders[order] = ORDERS[order](quality, np.maximum(self._suggested, 0))
        keep = self.subject.samples.labeled & (self._issue if show == "suspicious" else True)
        for key, labels in (("given", self._given), ("suggested", self._suggested)):
            if key in wanted:
                keep &= labels == self._class(key, wanted[key])
        if "quality" in wanted:
            keep &= quality <= _number("quality", wanted["quality"])
        if state != "any":
            keep &= self._in_state(state)
        order_all = self._orders[order]
        return order_all[keep[order_all]].tolist()

    def _run_audit(self) -> RunAudit:
        """The audit; from its first decision on, what is drawn does not change."""
        found = self._begun or RunAudit(self.subject.samples, self.decisions)
        self._begun = None if self.decisions.before_audit is None else found
        return found

    def _in_state(self, state: str) -> np.ndarray:
        """Which samples are open to this reviewer, decided or left unsure by them, or disputed; shape (N,) bool."""
        found = np.full(len(self._rows), state == "open")
        for row, each in self.decisions.rows():
            if (index := self._index.get(row)) is None:
                continue
            mine = each.get(self.reviewer)
            found[index] = {
                "open": mine is None,
                "decided": mine is not None and mine.label is not None,
                "unsure": mine is not None and mine.label is None,
                "disputed": disagree(each),
            }[state]
        return found

    def card(self, index: int) -> dict[str, Any]:
        """A sample, its labels, and what was decided about it."""
        self._check(index)
        given, suggested = int(self._given[index]), int(self._suggested[index])
        subject, weight = self.subject, self.subject.samples.weight
        looks, values = subject.looks, []
        if looks is not None and not looks.is_images:
            values = [(name, text[:LETTERS]) for name, text in looks.values(index, given, suggested)]
        each = self.decisions.of(self._rows[index])
        mine = each.pop(self.reviewer, None)
        return {
            "index": index,
            "row": self._rows[index],
            "name": _plain(looks.name(index) if looks else subject.samples.name[index] if subject.samples.name else ""),
            "given": given,
            "suggested": self._other(index),
            "quality": None if self.audit is not None else _finite(subject.quality[index]),
            "weight": None if self.audit is not None or weight is None else _finite(weight[index]),
            "held_out": index >= len(self._rows) - subject.held_out,
            "values": [(_plain(name), _plain(text)) for name, text in values[:200]],
            "more": max(0, len(values) - 200),
            "mine": None if mine is None else {"label": self._decided(mine)},
            # decisions of others would bias the reviewer, so they are shown afterward
            "others": [{"by": by, "label": self._decided(its)} for by, its in each.items() if mine],
        }

    def _decided(self, decision: Decision) -> int | None:
        return None if decision.label is None else self._number.get(decision.label, -1)

    def similar(self, index: int) -> dict[str, list[dict[str, Any]]]:
        """The samples most like this one, of the given and of the suggested class; the first time takes a while."""
        self._check(index)
        labels = {int(self._given[index]), self._other(index)}
        return {str(label): self._beside(index, label) for label in labels if label >= 0}

    def _other(self, index: int) -> int:
        """The suggested class, if it is not the given one; otherwise, and in an audit, -1."""
        suggested = int(self._suggested[index])
        return suggested if suggested != self._given[index] and self.audit is None else -1

    def _beside(self, index: int, label: int) -> list[dict[str, Any]]:
        """The most similar samples of a class whose label a person has confirmed, or nothing speaks against."""
        among = (self._given == label) & ~self._issue
        for row, decision in self.decisions.agreed().items():
            if (place := self._index.get(row)) is not None:
                among[place] = self._number.get(str(decision.label)) == label
        looks = self.subject.looks
        found = self._similar.of(index, among)
        if looks is None:
            return []
        if looks.is_images:
            return [{"index": each, "text": ""} for each in found]
        names = [
            name for name, _ in looks.values(index, int(self._given[index]), int(self._suggested[index]))[:COLUMNS]
        ]

        def text(each: int) -> str:
            values = dict(looks.values(each))
            return "\n".join(f"{name}: {values[name]}" if len(names) > 1 else values[name] for name in names)

        return [{"index": each, "text": _plain(text(each))[:300]} for each in found]

    def picture(self, index: int, small: bool = False) -> bytes:
        """A sample as PNG."""
        self._check(index)
        looks, side = self.subject.looks, SMALL if small else LARGE
        if looks is None or not looks.is_images:
            raise DataError("the samples are not images")
        return looks.png(index, side)

    def decide(self, index: int, label: int | None) -> dict[str, Any]:
        """Write a decision to disk.

        Args:
            label: The right class; None for one who is not sure.

        Raises:
            DataError: There is no such sample or class.
            StorageError: The decision could not be written, and does not count.
        """
        self._check(index)
        if label is not None and not 0 <= label < len(self.subject.class_names):
            raise DataError(f"class {label}: there are {len(self.subject.class_names)}, counted from 0")
        return self._write(index, None if label is None else self.subject.class_names[label])

    def undo(self, index: int) -> dict[str, Any]:
        """Take back the last decision about a sample; the one before it counts again."""
        self._check(index)
        with self._lock:
            self.decisions.refresh()
        if self.reviewer not in self.decisions.of(self._rows[index]):
            raise DataError(f"row {self._rows[index]}: {self.reviewer} has not decided about it")
        return self._write(index, None, undo=True)

    def _write(self, index: int, label: str | None, undo: bool = False) -> dict[str, Any]:
        names = self.subject.samples.name
        given = self.subject.class_names[int(self._given[index])]
        name = names[index] if names else ""
        with self._lock:
            self.decisions.add(
                Decision(self._rows[index], given, label, self.reviewer, name, undo=undo, audit=self.audit is not None)
            )
        return self.progress()

    def progress(self) -> dict[str, Any]:
        """How far the review is, and how many wrong labels are left, as estimated."""
        with self._lock:
            self.decisions.refresh()
            rows = [(self._index[row], each) for row, each in self.decisions.rows() if row in self._index]
        agreed = {index: found for index, each in rows if (found := agreement(each)) is not None}
        decided = np.array(list(agreed), dtype=int)
        wrong = np.array([found.label != found.given for found in agreed.values()], dtype=bool)
        labeled = self.subject.samples.labeled
        place = np.cumsum(labeled) - 1
        left = remaining(1 - self.subject.quality[labeled], place[decided[labeled[decided]]], wrong[labeled[decided]])
        mine = [index for index, each in rows if self.reviewer in each]
        return {
            "suspicious": int(self._issue.sum()),
            "seen": int(self._issue[mine].sum()),
            "decided": len(mine),
            "wrong": int(wrong.sum()),
            "right": int((~wrong).sum()),
            "disputed": sum(disagree(each) for _, each in rows),
            "reviewers": sorted({by for _, each in rows for by in each}),
            "remaining": [round(each) for each in left],
            "audit": self._audited(),
        }

    def _audited(self) -> dict[str, Any] | None:
        """How far the audit is, and what it found so far; None in a review."""
        if self.audit is None:
            return None
        audit = self._run_audit()
        drawn = audit.queue[: self.audit]
        found = audit.found(self.subject.class_names)
        return {
            "n": len(drawn),
            "decided": int((~self._in_state("open"))[drawn].sum()),
            "words": "" if found is None else str(found),
        }

    def _check(self, index: int) -> None:
        if not 0 <= index < len(self._rows) or self._given[index] < 0:
            raise DataError(f"sample {index}: there is no such sample with a label; there are {len(self._rows):,}")

    def _class(self, key: str, text: str) -> int:
        label = _number(key, text)
        if label not in range(len(self.subject.class_names)):
            raise DataError(f"{key}: got {text!r}; there are {len(self.subject.class_names)} classes, counted from 0")
        return int(label)


def _one_of(key: str, value: str, allowed: Any) -> str:
    if value not in allowed:
        raise DataError(f"{key}: got {value!r}; allowed: {', '.join(sorted(allowed))}")
    return value


def _number(key: str, text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise DataError(f"{key}: got {text!r}; give a number")
    return number


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _plain(text: str) -> str:
    """A name as JSON can hold it: bytes of a file name that are not UTF-8 become question marks."""
    return text.encode("utf-8", "replace").decode()
