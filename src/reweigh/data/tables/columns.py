"""How a column of each kind becomes features, once it is decided how to read it."""

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from reweigh.data.dataset import plural
from reweigh.data.inputs import MAX_DEVIATIONS, fence, robust_scale
from reweigh.data.tables.cells import GAPS, MISSING, Cells, Order, as_days, as_numbers, cells_of, spelling
from reweigh.data.tables.numbers import USUAL, Notation
from reweigh.data.tables.text import Plain, TfIdf, WordsAndVectors
from reweigh.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

TRUE = frozenset(["true", "t", "yes", "y", "on", "1", "1.0", "ja", "oui", "si", "sí", "wahr", "vrai"])
FALSE = frozenset(["false", "f", "no", "n", "off", "0", "0.0", "nein", "non", "falsch", "faux"])


@dataclass(frozen=True)
class Categorical:
    """One feature per category, including "missing" if some were missing; a new or rare category gets all zeros.

    Spellings of a category that differ in case, spaces or punctuation at the ends are the same.

    Attributes:
        boolean: Whether the categories are yes and no, in any words.
    """

    name: str
    categories: tuple[str, ...]
    boolean: bool = False
    kind: Literal["category"] = "category"

    @property
    def feature_names(self) -> list[str]:
        return [f"{self.name}={category}" for category in self.categories]

    def apply(self, values: "pd.Series") -> np.ndarray:
        codes, _ = self._codes(values)
        features = np.zeros((len(codes), len(self.categories)))
        known = codes >= 0
        features[known, codes[known]] = 1
        return features

    def known(self, values: "pd.Series") -> np.ndarray:
        """The categories as numbers; NaN where the cell is a gap."""
        codes, cells = self._codes(values)
        return np.where(cells.codes < 0, np.nan, codes)

    def _codes(self, values: "pd.Series") -> tuple[np.ndarray, Cells]:
        cells = category_cells(values, frozenset(map(spelling, self.categories)))
        index = {key_of(name, self.boolean): number for number, name in enumerate(self.categories)}
        own = [index.get(key_of(text, self.boolean), -1) for text in cells.distinct]
        gap = self.categories.index(MISSING) if MISSING in self.categories else -1
        return cells.spread(np.array(own, dtype=np.int64), gap), cells

    def strange(self, values: "pd.Series") -> str | None:
        """Which categories training did not have, in words."""
        codes, cells = self._codes(values)
        new = np.flatnonzero((codes < 0) & (cells.codes >= 0))
        if not len(new):
            return None
        names = Counter(cells.distinct[cells.codes[row]] for row in new.tolist())
        shown = ", ".join(repr(name) for name, _ in names.most_common(3))
        return f"{plural(len(names), 'category was', 'categories were')} rare or absent in training, such as {shown}"


def category_cells(values: "pd.Series", known: frozenset[str] = frozenset()) -> Cells:
    """The cells of a column of categories. A word for a gap is a category if it is known as one, or if besides it
    there is only one: + and -, for example."""
    cells = cells_of(values, GAPS - known)
    if not known and cells.gaps and len({*map(spelling, cells.distinct)}) < 2:
        return cells_of(values, frozenset(("", "nan")))
    return cells


def key_of(text: str, boolean: bool) -> str:
    """What all spellings of a category have in common."""
    key = spelling(text)
    return ("yes" if key in TRUE else "no" if key in FALSE else key) if boolean else key


def are_boolean(texts: list[str]) -> bool:
    """Whether these are words for yes and no, and both occur."""
    keys = {*map(spelling, texts)}
    return keys <= TRUE | FALSE and bool(keys & TRUE) and bool(keys & FALSE)


def fit_categorical(values: "pd.Series", most: int) -> Categorical:
    """The most frequent categories, each as it is written most often."""
    cells = category_cells(values)
    boolean = are_boolean(cells.distinct)
    written: dict[str, Counter[str]] = {}
    for text, count in zip(cells.distinct, cells.counts.tolist(), strict=True):
        written.setdefault(key_of(text, boolean), Counter())[text] += count
    frequent = sorted(written, key=lambda key: -written[key].total())[:most]
    names = [written[key].most_common(1)[0][0] for key in frequent]
    return Categorical(str(values.name), tuple(sorted([*names, *([MISSING] if cells.gaps else [])])), boolean)


FAR_RANGES = 1.0  # ranges of the training values, by which a later value may lie outside before it is called strange


@dataclass(frozen=True)
class Numeric:
    """(x - mean) / std, clipped; a missing value counts as the mean.

    Attributes:
        mean: Mean of the fitted values, of which absurd ones have no part (``robust_scale``).
        flag: Whether an additional feature marks missing values, because some were missing in the fitted table.
        low: Smallest value in the fitted table that is not absurd.
    """

    name: str
    mean: float
    std: float
    flag: bool
    low: float
    high: float
    notation: Notation = USUAL
    kind: Literal["number"] = "number"

    @property
    def feature_names(self) -> list[str]:
        return [self.name, f"{self.name} {MISSING}"] if self.flag else [self.name]

    def apply(self, values: "pd.Series") -> np.ndarray:
        numbers = self.known(values)
        missing = np.isnan(numbers)
        scaled = np.where(missing, 0.0, clipped(numbers, self.mean, self.std))
        return np.stack([scaled, missing], axis=1) if self.flag else scaled[:, None]

    def known(self, values: "pd.Series") -> np.ndarray:
        """The numbers; NaN where there is none."""
        return _some(as_numbers(values, self.notation), values, "number")

    def strange(self, values: "pd.Series") -> str | None:
        """How far later values are outside the range of training, in words."""
        numbers = as_numbers(values, self.notation)
        far = FAR_RANGES * max(self.high - self.low, abs(self.mean) * 1e-6)
        beyond = (numbers < self.low - far) | (numbers > self.high + far)
        if not beyond.any():
            return None
        worst = numbers[np.nanargmax(np.abs(numbers - self.mean))]
        return (
            f"{plural(int(beyond.sum()), 'value')} far outside {self.low:.6g} to {self.high:.6g}, such as {worst:.6g}"
        )


@dataclass(frozen=True)
class Date:
    """Calendar features: the day as a clipped number, and the places in year, week and day as sine and cosine.

    Attributes:
        order: Whether the day or the month comes first where both are numbers.
        parts: The features that vary in the fitted table.
    """

    name: str
    order: Order
    mean: float
    std: float
    flag: bool
    parts: tuple[str, ...]
    kind: Literal["date"] = "date"

    @property
    def feature_names(self) -> list[str]:
        return [f"{self.name} {part}" for part in (*self.parts, *([MISSING] if self.flag else []))]

    def apply(self, values: "pd.Series") -> np.ndarray:
        days = self.known(values)
        missing = np.isnan(days)
        features = calendar(clipped(days, self.mean, self.std), days)
        chosen = [np.where(missing, 0.0, features[part]) for part in self.parts]
        return np.stack([*chosen, *([missing] if self.flag else [])], axis=1, dtype=np.float64)

    def known(self, values: "pd.Series") -> np.ndarray:
        """The dates as days; NaN where there is none."""
        return _some(as_days(values, self.order), values, "date")


def clipped(numbers: np.ndarray, mean: float, std: float) -> np.ndarray:
    """Numbers in standard deviations from the mean, at most MAX_DEVIATIONS; NaN stays."""
    with np.errstate(over="ignore"):  # a number near the largest float
        return np.clip((numbers - mean) / std, -MAX_DEVIATIONS, MAX_DEVIATIONS)


def calendar(scaled: np.ndarray, days: np.ndarray) -> dict[str, np.ndarray]:
    """The features of dates by name."""
    found = {"day": scaled}
    for part, period in (("of the year", 365.2425), ("of the week", 7.0), ("of the day", 1.0)):
        angle = 2 * np.pi * ((np.floor(days) if period == 7 else days) % period) / period
        found |= {f"{part}, sine": np.sin(angle), f"{part}, cosine": np.cos(angle)}
    return found


# Each is plain data that JSON can hold. ``apply`` turns values into features, shape (N, number of features); ``known``
# is NaN where a value is missing or cannot be read.
Column = Numeric | Date | Categorical | TfIdf | Plain | WordsAndVectors


def fit_numeric(values: "pd.Series", notation: Notation) -> Numeric:
    """Mean, spread and range of the numbers, whatever a few absurd ones are."""
    name = str(values.name)
    numbers = _some(as_numbers(values, notation), values, "number")
    gaps = bool(np.isnan(numbers).any())
    numbers = numbers[~np.isnan(numbers)] if gaps else numbers
    if len(numbers) == 0:
        return Numeric(name, 0.0, 1.0, gaps, 0.0, 0.0, notation)
    (mean,), (std,) = robust_scale(numbers[:, None])
    if not np.isfinite(mean + std):
        largest = np.abs(numbers).max()
        raise DataError(f"column {name!r}: values up to {largest:.1e}; divide them by a constant, or leave it out")
    low, high = np.clip((numbers.min(), numbers.max()), *fence(numbers))
    return Numeric(name, float(mean), float(std), gaps, float(low), float(high), notation)


def fit_date(values: "pd.Series", order: Order) -> Date:
    """The calendar features that vary."""
    days = _some(as_days(values, order), values, "date")
    there = days[~np.isnan(days)]
    (mean,), (std,) = robust_scale(there[:, None]) if len(there) else ((0.0,), (1.0,))
    features = calendar(clipped(there, mean, std), there)
    parts = tuple(part for part, found in features.items() if len(found) and found.std() > 1e-3)
    return Date(str(values.name), order, float(mean), float(std), len(there) < len(days), parts or ("day",))


def _some(found: np.ndarray, values: "pd.Series", what: str) -> np.ndarray:
    """What was read of a column, unless it has values and none could be read."""
    if np.isnan(found).all() and (cells := cells_of(values)).filled:
        which = "its only value is not" if cells.filled == 1 else f"none of its {cells.filled:,} values is"
        raise DataError(f"column {values.name!r}: {which} a {what}, such as {cells.distinct[0]!r}; fix these cells")
    return found
