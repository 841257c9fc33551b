"""Cells of a column of numbers that are far from all others: typing mistakes, and numbers that mean a gap."""

import re
from collections.abc import Sequence

import numpy as np

from reweigh.data.normalize import middle_and_spread
from reweigh.names import plural

MIN_CELLS = 20  # fewer say little about what is usual
USUAL_SPREADS = 30.0  # interquartile ranges from the median
FAR_RANGES = 10.0  # times the range of the other values, by which a far value lies outside them
CODE = re.compile(r"-(1|9+|8+)|9{2,}|8{3,}")  # how surveys and instruments write that there is no value
MIN_VALUES = 10  # distinct values besides a code; among fewer, it may be one of the categories
MAX_NAMED = 2  # values; more are a long tail rather than codes


def far_cells(numbers: np.ndarray) -> list[tuple[float, int]]:
    """Values that are far from all others of a column, each with the number of its cells; the most frequent first.

    >>> far_cells(np.array([20.0, 31, 45, 52, 38, 27, -9999] * 10))
    [(-9999.0, 10)]

    A code such as -1 or 999 is one of them if it is frequent, and all others have the other sign or lie together.

    Args:
        numbers: Shape (n,), NaN for gaps.
    """
    numbers = numbers[~np.isnan(numbers)]
    if len(numbers) < MIN_CELLS:
        return []
    values, counts = np.unique(numbers, return_counts=True)
    middle, spread = middle_and_spread(numbers)
    with np.errstate(over="ignore", invalid="ignore"):
        inside = values[np.abs(values - middle) <= USUAL_SPREADS * spread]
        span = float(np.ptp(inside))
        distance = np.maximum(inside[0] - values, values - inside[-1])
        far = (distance > FAR_RANGES * span) & (distance > 0) if span > 0 else np.zeros(len(values), dtype=bool)
    for place in (0, len(values) - 1):
        far[place] |= _is_code(values, counts, place)
    order = np.argsort(-counts[far], kind="stable")
    return [(float(value), int(count)) for value, count in zip(values[far][order], counts[far][order], strict=True)]


def _is_code(values: np.ndarray, counts: np.ndarray, place: int) -> bool:
    """Whether the lowest or the highest value is a code for a gap rather than a number."""
    rest, value = np.delete(values, place), float(values[place])
    if len(rest) < MIN_VALUES or counts[place] <= np.delete(counts, place).max() or not CODE.fullmatch(f"{value:g}"):
        return False
    return bool(rest[0] >= 0) if value < 0 else bool(value - rest[-1] > rest[-1] - rest[0])


def far_words(found: Sequence[tuple[float, int]]) -> str:
    """Far cells in words."""
    named = " and ".join(f"{value:g} in {plural(count, 'cell')}" for value, count in found[:MAX_NAMED])
    more = f" and {plural(len(found) - MAX_NAMED, 'more value')}" if len(found) > MAX_NAMED else ""
    return f"{named}{more}, far from all others"


def gap_option(name: str, values: Sequence[float]) -> str:
    """The option that reads some numbers of a column as gaps."""
    shown = [repr(value).removesuffix(".0") for value in values]
    return f"data.columns.{name}.gap=" + (shown[0] if len(shown) == 1 else f"[{', '.join(shown)}]")
