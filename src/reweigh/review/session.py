"""One reviewer at work: which samples come next, what each shows, and what has been decided."""

import math
import secrets
from collections.abc import Mapping, Sequence
from functools import cached_property
from threading import Lock
from typing import Any

import numpy as np

from reweigh.errors import DataError
from reweigh.fit.decisions import EXCLUSIONS, Decision, Decisions, agreement, disagree
from reweigh.issues.remaining import remaining
from reweigh.review.cards import Cards
from reweigh.review.orders import ORDERS, by_pair, near_copies
from reweigh.review.subject import Subject
from reweigh.runs.audit import RunAudit

PATIENCE_SECONDS = 0.5  # for the wall to be sorted by similarity; after that it is shown with the worst label first
COMPARED_SECONDS = 20  # until the page is answered that the samples are still being compared
SHOWN = {"suspicious", "duplicates", "outliers", "all"}
STATES = {"open", "decided", "excluded", "unsure", "disputed", "any"}


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
        self._similar = subject.similar
        self._lock = Lock()
        samples = subject.samples
        assert samples.suggested is not None
        assert samples.issue is not None
        self._given, self._suggested, self._issue = samples.given, samples.suggested, samples.issue
        self._rows = samples.row.tolist()
        self._index = {row: index for index, row in enumerate(self._rows)}
        self._number = {name: label for label, name in enumerate(subject.class_names)}
        self._orders: dict[str, np.ndarray] = {}
        self._unsorted = False
        self._chains: dict[tuple[int, int, bool], np.ndarray] = {}
        self.cards = Cards(subject, self.decisions, self._similar, reviewer, blind=audit is not None)

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
            "exclusions": EXCLUSIONS,
            "copies": sum(map(len, self._copies)),
            "outliers": 0 if samples.outlier is None else int(samples.outlier[samples.labeled].sum()),
            "labels": int(samples.labeled.sum()),
            "images": subject.looks is not None and subject.looks.is_images,
            "trouble": subject.trouble,
            "audit": self.audit is not None,
            "progress": self.progress(),
        }

    def queue(self, wanted: Mapping[str, str]) -> list[int]:
        """Indices of the samples to show, in order.

        Args:
            wanted: ``order``; ``show`` suspicious, duplicates, outliers or all; ``state`` of decision; ``given`` and
                ``suggested`` class; and the largest ``quality``. What is absent does not restrict.
        """
        return [index for group in self.wall(wanted) for index in group["index"]]

    def wall(self, wanted: Mapping[str, str]) -> list[dict[str, Any]]:
        """The same in groups: near-duplicates, or pairs of given and suggested class if the order is "similar"."""
        found = self._queue(wanted)
        if self.audit is None and wanted.get("show") == "duplicates":
            chosen = {*found.tolist()}
            groups = [[index for index in group if index in chosen] for group in self._copies]
            labels = [{*self._given[group].tolist()} for group in groups]
            found = [
                {"pair": None, "differ": len(its) > 1, "index": group}
                for its, group in zip(labels, groups, strict=True)
                if group
            ]
            return sorted(found, key=lambda group: not group["differ"])
        if self.audit is not None or wanted.get("order") != "similar" or wanted.get("show") == "outliers":
            return [{"pair": None, "index": found.tolist()}]
        show, known = wanted.get("show", "suspicious"), self._similar.known_within(PATIENCE_SECONDS)
        self._unsorted |= not known
        return [
            {
                "pair": [int(self._given[group[0]]), int(self._suggested[group[0]])],
                "index": (self._chained(group, show == "suspicious") if known else group).tolist(),
            }
            for group in by_pair(found, self._given, self._suggested)
        ]

    def map(self) -> dict[str, Any]:
        """All samples with a label as points of a plane, from 0 to 65,535, with what they can be colored by."""
        if self.audit is not None:
            raise DataError("an audit has no map, which would show what training thinks of the labels")
        with self._lock:
            found = self._similar.plane
        if found is None:
            why = self.subject.trouble or "their features are not stored; train again with pretrained features"
            return {"trouble": f"There is no map of these samples: {why}."}
        index, family = np.flatnonzero(self.subject.samples.labeled), self.subject.samples.family
        points = (found.points[index] * 65_535).astype(int)
        family = np.full(len(self._rows), -1) if family is None else np.nan_to_num(family, nan=-1).astype(int)
        return {
            "trouble": "",
            "how": found.how,
            "index": index.tolist(),
            "x": points[:, 0].tolist(),
            "y": points[:, 1].tolist(),
            "given": self._given[index].tolist(),
            "doubt": (100 * (1 - self.subject.quality[index])).astype(int).tolist(),
            "family": family[index].tolist(),
            "issue": self._issue[index].astype(int).tolist(),
            "decided": (~self._in_state("open"))[index].astype(int).tolist(),
        }

    def compared(self) -> dict[str, bool]:
        """Whether all samples are compared, after some seconds at most; whether a wall was shown before that."""
        done = self._similar.known_within(COMPARED_SECONDS)
        unsorted, self._unsorted = self._unsorted, self._unsorted and not done
        return {"done": done, "again": unsorted}

    def _chained(self, group: np.ndarray, suspicious: bool) -> np.ndarray:
        """A group with similar samples side by side; what was decided before does not change their order."""
        pair = (int(self._given[group[0]]), int(self._suggested[group[0]]), suspicious)
        if pair not in self._chains:
            whole = (self._given == pair[0]) & (self._suggested == pair[1]) & (self._issue if suspicious else True)
            members = np.flatnonzero(whole)
            worst_first = members[np.argsort(self.subject.quality[members], kind="stable")]
            self._chains[pair] = self._similar.chained(worst_first)
        found = self._chains[pair]
        return found[np.isin(found, group)]

    @cached_property
    def _copies(self) -> list[list[int]]:
        samples = self.subject.samples
        if samples.near_duplicate_of is None:
            return []
        return near_copies(samples.near_duplicate_of.tolist(), samples.name or list(map(str, self._rows)))

    def _queue(self, wanted: Mapping[str, str]) -> np.ndarray:
        with self._lock:
            self.decisions.refresh()
        if self.audit is not None:
            drawn, is_open = self._run_audit().queue[: self.audit], self._in_state("open")
            return drawn[is_open[drawn]]
        order = _one_of("order", wanted.get("order", "doubtful"), ORDERS)
        show = _one_of("show", wanted.get("show", "suspicious"), SHOWN)
        state = _one_of("state", wanted.get("state", "open"), STATES)
        quality = self.subject.quality
        if order not in self._orders:
            self._orders[order] = ORDERS[order](quality, np.maximum(self._suggested, 0))
        samples = self.subject.samples
        alone = np.zeros(len(self._rows), bool) if samples.outlier is None else samples.outlier
        keep = samples.labeled & {"suspicious": self._issue, "outliers": alone}.get(show, np.True_)
        for key, labels in (("given", self._given), ("suggested", self._suggested)):
            if key in wanted:
                keep &= labels == self._class(key, wanted[key])
        if "quality" in wanted:
            keep &= quality <= _number("quality", wanted["quality"])
        if state != "any":
            keep &= self._in_state(state)
        order_all = self._orders[order]
        return order_all[keep[order_all]]

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
                "excluded": mine is not None and mine.exclude != "",
                "unsure": mine is not None and not mine.sure,
                "disputed": disagree(each),
            }[state]
        return found

    def decide(self, indices: int | Sequence[int], label: int | str | None = None, exclude: str = "") -> dict[str, Any]:
        """Write a decision about one or more samples to disk; one ``undo`` takes it back.

        Args:
            indices: The samples.
            label: The right class; "suggested" or "given" for that of each sample; None for one who is not sure.
            exclude: Why to leave the samples out instead, one of ``EXCLUSIONS``.

        Raises:
            DataError: There is no such sample, class or reason; nothing is written.
            StorageError: The decision could not be written, and does not count.
        """
        indices = [indices] if isinstance(indices, int) else list(dict.fromkeys(indices))
        if not indices:
            raise DataError("index: no sample is chosen; choose one or more")
        for index in indices:
            self.cards.check(index)
        if exclude:
            _one_of("exclude", exclude, EXCLUSIONS)
            label = None
        classes, number = self.subject.class_names, len(self.subject.class_names)
        if isinstance(label, int) and not 0 <= label < number:
            raise DataError(f"class {label}: there are {number}, counted from 0")
        if isinstance(label, str):
            _one_of("label", label, ("given",) if self.audit is not None else ("given", "suggested"))
            labels = (self._given if label == "given" else self._suggested)[indices].tolist()
        else:
            labels = [label] * len(indices)
        action = secrets.token_hex(4) if len(indices) > 1 else ""
        names = [None if each is None else classes[each] for each in labels]
        pairs = zip(indices, names, strict=True)
        return self._write([self._decision(index, name, exclude=exclude, action=action) for index, name in pairs])

    def undo(self, index: int | None = None) -> dict[str, Any]:
        """Take back the last decision about a sample, or else all of the last action; those before count again."""
        with self._lock:
            self.decisions.refresh()
        rows = self.decisions.last_action(self.reviewer)
        if index is not None:
            self.cards.check(index)
            rows = [self._rows[index]] if self.reviewer in self.decisions.of(self._rows[index]) else []
        indices = [self._index[row] for row in rows if row in self._index]
        if not indices:
            raise DataError(f"{self.reviewer} has not decided about {'any' if index is None else 'this'} sample")
        return self._write([self._decision(each, None, undo=True) for each in indices]) | {"index": indices}

    def _decision(self, index: int, label: str | None, **more: Any) -> Decision:
        names, given = self.subject.samples.name, self.subject.class_names[int(self._given[index])]
        name, audit = names[index] if names else "", self.audit is not None
        return Decision(self._rows[index], given, label, self.reviewer, name, audit=audit, **more)

    def _write(self, decisions: Sequence[Decision]) -> dict[str, Any]:
        with self._lock:
            self.decisions.add(*decisions)
        return self.progress()

    def progress(self) -> dict[str, Any]:
        """How far the review is, and how many wrong labels are left, as estimated."""
        with self._lock:
            self.decisions.refresh()
            rows = [(self._index[row], each) for row, each in self.decisions.rows() if row in self._index]
        agreed = {index: found for index, each in rows if (found := agreement(each)) is not None}
        decided = np.array(list(agreed), dtype=int)
        wrong = np.array([found.wrong is True for found in agreed.values()], dtype=bool)
        right = np.array([found.wrong is False for found in agreed.values()], dtype=bool)
        labeled = self.subject.samples.labeled
        place = np.cumsum(labeled) - 1
        doubt, known = 1 - self.subject.quality[labeled], labeled[decided]
        left = remaining(doubt, place[decided[known]], wrong[known], self.subject.counted)
        mine = [index for index, each in rows if self.reviewer in each]
        return {
            "suspicious": int(self._issue.sum()),
            "seen": int(self._issue[mine].sum()),
            "decided": len(mine),
            "wrong": int(wrong.sum()),
            "right": int(right.sum()),
            "excluded": sum(found.exclude != "" for found in agreed.values()),
            "undo": len(self.decisions.last_action(self.reviewer)),
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
