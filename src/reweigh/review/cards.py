"""What the review page shows of a sample: a card, a tile, a picture, and similar samples."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from reweigh.data.viewer import Viewer
from reweigh.errors import DataError
from reweigh.fit.decisions import EXCLUSIONS, Decision, Decisions
from reweigh.fit.similar import Similar
from reweigh.review.subject import Subject

LARGE, SMALL = 768, 200  # pixels of the sample that is judged, and of a tile or of those beside it
MAX_SMALL_PICTURES = 5000  # that are kept in memory, a few kilobytes each
COLUMNS = 3  # values of a similar sample: those that tell most about the one that is judged
LETTERS = 20_000  # characters of a value
TILE_LETTERS = 300  # characters of a tile
MAX_TILES = 500  # tiles in one answer


class Cards:
    """The samples that are reviewed, as the page shows them; a DataError if there is no such sample.

    Args:
        reviewer: Name of the person who sees them.
        blind: Whether to hide what training thinks of the labels.
    """

    def __init__(self, subject: Subject, decisions: Decisions, similar: Similar, reviewer: str, blind: bool):
        self._subject, self._decisions, self._similar = subject, decisions, similar
        self._reviewer, self._blind = reviewer, blind
        samples = subject.samples
        assert samples.suggested is not None
        assert samples.issue is not None
        self._given, self._suggested, self._issue = samples.given, samples.suggested, samples.issue
        self._rows = samples.row.tolist()
        self._index = {row: index for index, row in enumerate(self._rows)}
        self._number = {name: label for label, name in enumerate(subject.class_names)}
        self._small = lru_cache(MAX_SMALL_PICTURES)(lambda index: self._looks.jpeg(index, SMALL))

    def check(self, index: int) -> None:
        """Raise a DataError if there is no such sample with a label."""
        if not 0 <= index < len(self._rows) or self._given[index] < 0:
            raise DataError(f"sample {index}: there is no such sample with a label; there are {len(self._rows):,}")

    def card(self, index: int) -> dict[str, Any]:
        """A sample, its labels, and what was decided about it."""
        self.check(index)
        given, suggested = int(self._given[index]), int(self._suggested[index])
        subject, weight = self._subject, self._subject.samples.weight
        looks, values = subject.looks, []
        if looks is not None and not looks.is_images:
            values = [(name, text[:LETTERS]) for name, text in looks.values(index, given, suggested)]
        if subject.samples.votes is not None:
            values = [("votes", subject.samples.votes[index]), *values]
        each = self._decisions.of(self._rows[index])
        mine = each.pop(self._reviewer, None)
        return {
            "index": index,
            "row": self._rows[index],
            "name": _plain(looks.name(index) if looks else subject.samples.name[index] if subject.samples.name else ""),
            "given": given,
            "suggested": self._other(index),
            "quality": None if self._blind else _finite(subject.quality[index]),
            "weight": None if self._blind or weight is None else _finite(weight[index]),
            "held_out": index >= len(self._rows) - subject.held_out,
            "values": [(_plain(name), _plain(text)) for name, text in values[:200]],
            "more": max(0, len(values) - 200),
            "mine": None if mine is None else self._decided(mine),
            # decisions of others would bias the reviewer, so they are shown afterward
            "others": [{"by": by, **self._decided(its)} for by, its in each.items() if mine],
        }

    def tiles(self, indices: Sequence[int]) -> list[dict[str, Any]]:
        """As much of each sample as a tile of the wall shows."""
        if len(indices) > MAX_TILES:
            raise DataError(f"index: {len(indices):,} samples; ask for {MAX_TILES} at a time")
        return [self._tile(index) for index in indices]

    def _tile(self, index: int) -> dict[str, Any]:
        self.check(index)
        looks, text = self._subject.looks, ""
        if looks is not None and not looks.is_images:
            values = looks.values(index, int(self._given[index]), int(self._suggested[index]))
            text = values[0][1] if len(values) == 1 else "\n".join(f"{name}: {value}" for name, value in values[:6])
        mine = self._decisions.of(self._rows[index]).get(self._reviewer)
        names = self._subject.samples.name
        return {
            "index": index,
            "row": self._rows[index],
            "name": _plain(names[index]) if names else "",
            "given": int(self._given[index]),
            "suggested": self._other(index),
            "quality": None if self._blind else _finite(self._subject.quality[index]),
            "text": _plain(text[:TILE_LETTERS]),
            "mine": None if mine is None else self._decided(mine),
        }

    def _decided(self, decision: Decision) -> dict[str, Any]:
        label = None if decision.label is None else self._number.get(decision.label, -1)
        return {"label": label, "exclude": EXCLUSIONS.get(decision.exclude, "")}

    def similar(self, index: int) -> dict[str, list[dict[str, Any]]]:
        """The samples most like this one, of the given and of the suggested class; the first time takes a while."""
        self.check(index)
        labels = {int(self._given[index]), self._other(index)}
        return {str(label): self._beside(index, label) for label in labels if label >= 0}

    def _other(self, index: int) -> int:
        """The suggested class, if it is not the given one; otherwise, and in an audit, -1."""
        suggested = int(self._suggested[index])
        return suggested if suggested != self._given[index] and not self._blind else -1

    def _beside(self, index: int, label: int) -> list[dict[str, Any]]:
        """The most similar samples of a class whose label a person has confirmed, or nothing speaks against."""
        among = (self._given == label) & ~self._issue
        for row, decision in self._decisions.agreed().items():
            if (place := self._index.get(row)) is not None:
                among[place] = self._number.get(str(decision.label)) == label
        looks = self._subject.looks
        found = self._similar.of(index, among)
        if looks is None:
            return []
        confirmed = {*self._decisions.agreed()}

        def doubted(each: int) -> bool:
            return not self._blind and self._suggested[each] != label and self._rows[each] not in confirmed

        if looks.is_images:
            return [{"index": each, "text": "", "doubtful": bool(doubted(each))} for each in found]
        names = [
            name for name, _ in looks.values(index, int(self._given[index]), int(self._suggested[index]))[:COLUMNS]
        ]

        def text(each: int) -> str:
            values = dict(looks.values(each))
            return "\n".join(f"{name}: {values[name]}" if len(names) > 1 else values[name] for name in names)

        return [
            {"index": each, "text": _plain(text(each))[:TILE_LETTERS], "doubtful": bool(doubted(each))}
            for each in found
        ]

    @property
    def _looks(self) -> Viewer:
        if self._subject.looks is None or not self._subject.looks.is_images:
            raise DataError("the samples are not images")
        return self._subject.looks

    def picture(self, index: int, small: bool = False) -> bytes:
        """A sample as PNG, a small one as JPEG."""
        self.check(index)
        return self._small(index) if small else self._looks.png(index, LARGE)


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _plain(text: str) -> str:
    """A name as JSON can hold it: bytes of a file name that are not UTF-8 become question marks."""
    return text.encode("utf-8", "replace").decode()
