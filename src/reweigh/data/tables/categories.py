"""Columns of categories: spellings of one word are one, and yes and no may be written in any words."""

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from reweigh.data.checks import plural
from reweigh.data.tables.cells import GAPS, MISSING, Cells, cells_of, spelling

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
