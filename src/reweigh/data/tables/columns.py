"""How a column of each kind becomes features, once it is decided how to read it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from reweigh.data.checks import plural
from reweigh.data.normalize import MAX_DEVIATIONS, fence, robust_scale
from reweigh.data.tables.categories import Categorical
from reweigh.data.tables.cells import MISSING, as_days, as_numbers, cells_of
from reweigh.data.tables.dates import Order
from reweigh.data.tables.numbers import USUAL, Notation
from reweigh.data.tables.text import Plain, TfIdf, WordsAndVectors
from reweigh.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

FAR = 1.0  # ranges of the training values, by which a later value may lie outside before it is called strange


@dataclass(frozen=True)
class Numeric:
    """(x - mean) / std, clipped; a missing value counts as the mean.

    Attributes:
        mean: Mean of the fitted values, of which absurd ones have no part (``robust_scale``).
        std: Standard deviation, likewise.
        flag: Whether an additional feature marks missing values, because some were missing in the fitted table.
        low: Smallest value in the fitted table that is not absurd.
        high: Largest value likewise.
        notation: How the column writes numbers.
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
        far = FAR * max(self.high - self.low, abs(self.mean) * 1e-6)
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
