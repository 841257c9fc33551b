"""Dates and times as people write them, read by pandas once day and month cannot be confused."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Literal

import numpy as np

Order = Literal["day", "month"]
TIME = r"\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?: ?[AaPp]\.?[Mm]\.?)?(?: ?(?:Z|UTC|GMT|[+-]\d{2}:?\d{2}))?"
NUMERIC = re.compile(rf"(?:[A-Za-z]{{2,9}}\.?,? )?(\d{{1,4}})([./-])(\d{{1,2}})\2(\d{{1,4}})(?:(?:T|,? )({TIME}))?")
COMPACT = re.compile(r"(19\d\d|20\d\d)(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])")
MONTH = re.compile(r"((?:19|20)\d{2})[-/](0?[1-9]|1[0-2])|(0?[1-9]|1[0-2])[-/]((?:19|20)\d{2})")
CLOCK = re.compile(TIME)
WORDS = re.compile(
    rf"(?:[A-Za-z]{{2,9}},? )?(?:\d{{1,2}}(?:st|nd|rd|th)?[ .-]{{1,2}})?(?:of )?"
    rf"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{{0,6}}\.?"
    rf"(?:[ -]\d{{1,2}}(?:st|nd|rd|th)?)?(?:,? |-)(?:\d{{4}}|\d{{2}})(?:,? (?:at )?{TIME})?",
    re.IGNORECASE,
)


def order_of(cells: Sequence[str], counts: Sequence[int]) -> tuple[Order, bool]:
    """Whether the day or the month comes first, and whether the column leaves no doubt.

    The day comes first unless it cannot: in 12/31/2024 the month does.
    """
    counted: Counter[str] = Counter()
    for cell, count in zip(cells, counts, strict=True):
        found = NUMERIC.fullmatch(cell)
        if found and len(found[1]) <= 2:
            first, second = int(found[1]), int(found[3])
            either = max(first, second) <= 12 and found[2] != "."  # 5.6.2024 is written where the day comes first
            counted["both" if either else "day" if second <= 12 else "month"] += count
    order: Order = "month" if counted["month"] > counted["day"] else "day"
    return order, not counted["both"] or counted[order] > 0


def read_dates(cells: Sequence[str], order: Order) -> np.ndarray:
    """Days since 1970 with the time of day as a fraction, NaN for what is not a date.

    A time without a date is one of the first of January 1970, and a month its first day.
    """
    import pandas as pd

    texts = [_readable(cell, order) for cell in cells]
    found = pd.to_datetime(pd.Series(texts, dtype=object), format="mixed", errors="coerce", utc=True)
    days = (found - pd.Timestamp("1970-01-01", tz="UTC")) / pd.Timedelta(days=1)
    return days.to_numpy(dtype=np.float64, na_value=np.nan)


def _readable(cell: str, order: Order) -> str | None:
    """The cell with year, month and day in the order of ISO; None for what is not a date."""
    if found := NUMERIC.fullmatch(cell):
        first, _, middle, last, time = found.groups()
        if len(first) > 2:
            year, month, day = first, middle, last
        else:
            day, month = (first, middle) if order == "day" else (middle, first)
            year = last
        return _iso(year, month, day, time)
    if found := COMPACT.fullmatch(cell):
        return "-".join(found.groups())
    if found := MONTH.fullmatch(cell):
        return _iso(found[1] or found[4], found[2] or found[3], "1", None)
    if CLOCK.fullmatch(cell):
        return _iso("1970", "1", "1", cell)
    return cell if WORDS.fullmatch(cell) else None


def _iso(year: str, month: str, day: str, time: str | None) -> str | None:
    if len(year) == 3 or len(year) == 1 or len(day) > 2:
        return None
    century = "" if len(year) == 4 else "20" if int(year) < 69 else "19"  # as strptime has it
    date = f"{century}{year}-{int(month):02}-{int(day):02}"
    return f"{date} {time.replace(',', '.')}" if time else date
