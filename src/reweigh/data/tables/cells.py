"""The cells of a table column: gaps and spellings as people write them, and the same cells as numbers or days."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from reweigh.data.dataset import at_rows, plural
from reweigh.data.tables.numbers import Notation
from reweigh.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

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


MISSING = "(missing)"
# Compared in lower case. pandas' own list, and what people type.
GAPS = frozenset((
    "", "?", "??", "-", "--", "---", "–", "—", ".", "n/a", "na", "n.a.", "n.a", "<na>", "#n/a", "#na", "#null!",
    "#value!", "#ref!", "#div/0!", "#name?", "nan", "-nan", "1.#qnan", "null", "none", "nil", "nat", "unknown",
    "missing", "(missing)", "not available", "not known", "k.a.", "\\n",
))  # fmt: skip
LABEL_GAPS = GAPS - {"na", "none", "nil", "unknown", "missing", "n.a.", "."}  # a class may well have such a name
# Letters of scripts that put no space between words: Chinese and Japanese; and with Thai, Lao, Burmese and Khmer.
IDEOGRAPHS = "\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
UNSPACED = re.compile(f"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff{IDEOGRAPHS}]")
EDGES = " .,;:!\"'`´“”‘’"  # what a typist leaves at the ends of a word


class Cells(NamedTuple):
    """The distinct strings of a column, in the order of their first row.

    Attributes:
        codes: Shape (N,), the index of each cell in ``distinct``; -1 for a gap.
        distinct: The strings, without outer spaces and with single spaces between words.
        counts: Shape (len(distinct),), how often each occurs.
    """

    codes: np.ndarray
    distinct: list[str]
    counts: np.ndarray

    @property
    def gaps(self) -> int:
        """Number of cells without a value."""
        return int((self.codes < 0).sum())

    @property
    def filled(self) -> int:
        """Number of cells with a value."""
        return len(self.codes) - self.gaps

    def share(self, fits: np.ndarray) -> float:
        """The share of the cells with a value whose string fits, shape (len(distinct),) bool."""
        return float(self.counts[fits].sum()) / max(self.filled, 1)

    def spread(self, values: np.ndarray, missing: object) -> np.ndarray:
        """A value per distinct string as one per cell."""
        return np.append(values, np.array([missing], dtype=values.dtype))[self.codes]


def cells_of(values: "pd.Series", gaps: frozenset[str] = GAPS) -> Cells:
    """The strings of a column."""
    import pandas as pd

    raw, found = pd.factorize(values.to_numpy(dtype=object), use_na_sentinel=True)
    index: dict[str, int] = {}
    of_raw = np.full(len(found) + 1, -1, dtype=np.int64)
    for number, value in enumerate(found.tolist()):
        text = " ".join(str(value).split())
        if text.casefold() not in gaps:
            of_raw[number] = index.setdefault(text, len(index))
    codes = of_raw[raw]
    return Cells(codes, list(index), np.bincount(codes[codes >= 0], minlength=len(index)))


def spelling(text: str) -> str:
    """What all spellings of a word have in common: no case, single spaces, no punctuation at the ends."""
    plain = " ".join(text.split()).casefold()
    return plain.strip(EDGES) or plain


def as_text(values: Any) -> list[str]:
    """The cells of a column as they are, with an empty string for what is missing."""
    absent = values.isna().to_numpy()
    return ["" if gone else str(value) for value, gone in zip(values.tolist(), absent, strict=True)]


def check_plain(values: "pd.Series") -> None:
    """Refuse a column whose cells hold several values each."""
    if values.dtype != object:
        return
    for value in values:
        if isinstance(value, list | dict | tuple | set | np.ndarray):
            shown = re.sub(r"\s+", " ", str(value))[:40]
            raise DataError(
                f"column {values.name!r}: cells hold {type(value).__name__}s, such as {shown}; spread them over "
                "several columns, or leave the column out (X.drop(columns=...); on the command line --drop COLUMN)"
            )


def as_numbers(values: "pd.Series", notation: Notation) -> np.ndarray:
    """The values as floats; NaN where they are missing, or not numbers."""
    import pandas as pd
    from pandas.api import types

    if types.is_numeric_dtype(values):
        numbers = pd.Series(values).astype("float64").to_numpy()
    elif types.is_timedelta64_dtype(values):
        numbers = (values / pd.Timedelta(days=1)).to_numpy(dtype=float)
    elif types.is_datetime64_any_dtype(values):
        numbers = as_days(values, "day")
    else:
        numbers = np.full(len(values), np.nan)
        if notation.decimal == ".":  # quick, and most are
            try:
                found = pd.to_numeric(values, errors="coerce")
            except OverflowError:  # an integer beyond all floats, which JSON may hold
                found = pd.to_numeric(values.astype(str), errors="coerce")
            numbers = pd.Series(found).astype("float64").to_numpy(copy=True)
        if np.isnan(numbers).any():
            rest = np.flatnonzero(np.isnan(numbers) & values.notna().to_numpy())
            cells = cells_of(values.iloc[rest])
            numbers[rest] = cells.spread(notation.read(cells.distinct), np.nan)
    if len(rows := np.flatnonzero(np.isinf(numbers))):
        raise DataError(
            f"column {values.name!r}: {plural(len(rows), 'value is infinite', 'values are infinite')}, "
            f"such as {str(values.iloc[rows[0]])!r}: {at_rows(rows.tolist())}; fix or clear these cells"
        )
    return np.where(np.isin(numbers, notation.gaps), np.nan, numbers) if notation.gaps else numbers


def as_days(values: "pd.Series", order: Order) -> np.ndarray:
    """Dates as days since 1970, with the time of day as a fraction; NaN where they are missing, or not dates."""
    import pandas as pd
    from pandas.api import types

    if types.is_datetime64_any_dtype(values):
        times = pd.to_datetime(values, utc=True)
        return ((times - pd.Timestamp("1970-01-01", tz="UTC")) / pd.Timedelta(days=1)).to_numpy(dtype=float)
    cells = cells_of(values)
    return cells.spread(read_dates(cells.distinct, order), np.nan)
