"""Numbers as people write them: currency signs, separators, decimal commas, percent, units, parentheses."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from reweigh.data.inputs import middle_and_spread
from reweigh.names import plural

SIGNS = "$¢£¤¥₠-⃏"  # of currencies
CODES = "USD|EUR|GBP|CHF|JPY|CNY|INR|AUD|CAD|SEK|NOK|DKK|PLN|CZK|BRL|ZAR|KRW|MXN|Rs\\.?|kr\\.?|Fr\\.?"
CELL = re.compile(
    rf"(?P<open>\()?\s*(?P<minus>[-+−–])?\s*(?P<before>[A-Z]{{0,3}}[{SIGNS}]|(?:{CODES})(?=[\s\d]))?\s*"
    rf"(?P<inner>[-+−–])?\s*(?P<body>(?:\d[\d.,'’_ ]*)?\d\.?|[.,]\d+)(?P<power>[eE][-+]?\d+)?"
    rf"\s*(?P<after>(?![eE]\d)[^\d\s.,;:+\-−–()'’_?*=<>\[\]{{}}][^\d;:,()?*=<>\[\]{{}}]{{0,11}}?)?\s*(?P<close>\))?"
)
MINUS = "-−–"
INFINITE = ("inf", "-inf", "+inf", "infinity", "-infinity")
MAX_NUMBER_CHARS = 400  # characters of a number
PLAIN = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
BY_DECIMAL = {
    sign: re.compile(rf"(?:\d{{1,3}}(?:[{other} '’_]\d{{2,3}})*[{other} '’_]\d{{3}}|\d+)(?:[{sign}]\d*)?|[{sign}]\d+")
    for sign, other in ((".", ","), (",", "."))
}
AMOUNTS = {"k": 3, "mio": 6, "mn": 6, "bn": 9}  # a word for a power of ten
CURRENCY = re.compile(rf"[A-Za-z]{{0,3}}[{SIGNS}]|{CODES}")


@dataclass(frozen=True)
class Notation:
    """How a column writes its numbers.

    Attributes:
        unit: The unit or currency of most cells; empty if they have none.
        gaps: Numbers that mean that there is no value.
    """

    decimal: Literal[".", ","] = "."
    unit: str = ""
    gaps: tuple[float, ...] = ()

    def read(self, cells: Sequence[str]) -> np.ndarray:
        """The numbers, NaN for what is not one in this notation.

        A cell without a unit has the usual one; with another unit it is not a number of this column.
        A cell with the other decimal sign is read if it can only be meant so, as 12.5 next to 1.234,5.
        """
        return np.array([self._one(cell) for cell in cells], dtype=np.float64)

    def _one(self, cell: str) -> float:
        if self.decimal == "." and PLAIN.fullmatch(cell):
            return float(cell)
        found = parts(cell)
        if found is None:
            return float(cell) if cell.casefold() in INFINITE else np.nan
        number = _value(found.body, self.decimal)
        if number is None and votes([found.body])[found.decimal_votes_for] > 0:
            number = _value(found.body, found.decimal_votes_for)
        return np.nan if number is None or not self._knows(found.unit) else found.sign * number * 10.0**found.power

    def _knows(self, unit: str) -> bool:
        """Whether a unit is the usual one; currencies are not told apart."""
        is_currency = CURRENCY.fullmatch(unit) and (not self.unit or CURRENCY.fullmatch(self.unit))
        return unit in ("", self.unit) or bool(is_currency)


USUAL = Notation()


@dataclass(frozen=True)
class Parts:
    """A number taken apart."""

    sign: int
    body: str
    power: int
    unit: str

    @property
    def decimal_votes_for(self) -> Literal[".", ","]:
        """The decimal sign that the body itself suggests."""
        return "," if self.body.rfind(",") > self.body.rfind(".") else "."


def parts(cell: str) -> Parts | None:
    """Sign, digits and unit of a cell; None if it is not a number in any notation."""
    found = CELL.fullmatch(cell) if len(cell) <= MAX_NUMBER_CHARS else None
    if found is None or bool(found["open"]) != bool(found["close"]):
        return None
    signs = [sign for sign in (found["minus"], found["inner"]) if sign]
    if len(signs) + bool(found["open"]) > 1 or (found["before"] and found["after"]):
        return None
    negative = bool(found["open"]) or (bool(signs) and signs[0] in MINUS)
    power = int(found["power"][1:]) if found["power"] else 0
    unit = (found["before"] or found["after"] or "").strip()
    if unit.casefold() in AMOUNTS:
        power, unit = power + AMOUNTS[unit.casefold()], ""
    return Parts(-1 if negative else 1, found["body"].strip(), power, unit) if abs(power) < 400 else None


def votes(bodies: Sequence[str]) -> Counter[str]:
    """How many numbers can only have been written with each decimal sign; 1,234 says nothing."""
    counted: Counter[str] = Counter()
    for body in bodies:
        dot, comma = body.count("."), body.count(",")
        if dot and comma:
            last, other = (",", ".") if body.rfind(",") > body.rfind(".") else (".", ",")
            counted[last if body.count(last) == 1 else other] += 1
        elif dot + comma > 1:
            counted["," if dot else "."] += 1
        elif dot + comma == 1:
            sign = "." if dot else ","
            head, tail = body.split(sign)
            if len(tail) != 3 or len(head) > 3 or head in ("", "0"):
                counted[sign] += 1
    return counted


def usual_unit(found: Sequence[Parts | None], counts: Sequence[int]) -> str:
    """The unit of most cells that have one."""
    counted: Counter[str] = Counter()
    for part, count in zip(found, counts, strict=True):
        if part is not None and part.unit:
            counted[part.unit] += count
    return counted.most_common(1)[0][0] if counted else ""


def _value(body: str, decimal: str) -> float | None:
    if BY_DECIMAL[decimal].fullmatch(body) is None:
        return None
    other = "," if decimal == "." else "."
    return float(re.sub(rf"[{other} '’_]", "", body).replace(decimal, "."))


MIN_CELLS = 20  # fewer say little about what is usual
USUAL_SPREADS = 30.0  # interquartile ranges from the median
FAR_RANGES = 10.0  # times the range of the other values, by which a far value lies outside them
GAP_CODE = re.compile(r"-(1|9+|8+)|9{2,}|8{3,}")  # how surveys and instruments write that there is no value
MIN_VALUES = 10  # distinct values besides a code; among fewer, it may be one of the categories
MAX_NAMED = 2  # values; more are a long tail rather than codes


def far_cells(numbers: np.ndarray) -> list[tuple[float, int]]:
    """Values that are far from all others of a column, each with the number of its cells; the most frequent first.

    >>> far_cells(np.array([20.0, 31, 45, 52, 38, 27, -9999] * 10))
    [(-9999.0, 10)]

    A code such as -1 or 999 is one of them if it is frequent, and all others have the other sign or lie together.
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
    if (
        len(rest) < MIN_VALUES
        or counts[place] <= np.delete(counts, place).max()
        or not GAP_CODE.fullmatch(f"{value:g}")
    ):
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
