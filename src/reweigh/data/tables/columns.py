"""The kinds of columns in a table, and how each becomes features."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from reweigh.data.normalize import HUGE
from reweigh.data.tables.values import MISSING, as_numbers, as_strings
from reweigh.errors import DataError

if TYPE_CHECKING:
    import pandas as pd


MANY = 20  # rows; in shorter tables a column of distinct values may be anything
DISTINCT = 0.95  # share of a column
SHORT = 60  # letters


@dataclass(frozen=True)
class Numeric:
    """(x - mean) / std; a missing value counts as the mean.

    Attributes:
        flag: whether an additional feature marks missing values, because some were missing in the fitted table.
    """

    name: str
    mean: float
    std: float
    flag: bool
    kind: Literal["numeric"] = "numeric"

    @property
    def feature_names(self) -> list[str]:
        return [self.name, f"{self.name} {MISSING}"] if self.flag else [self.name]

    def apply(self, values: "pd.Series") -> np.ndarray:
        numbers = as_numbers(values)
        missing = np.isnan(numbers)
        scaled = np.where(missing, 0.0, (numbers - self.mean) / self.std)
        return np.stack([scaled, missing], axis=1) if self.flag else scaled[:, None]


@dataclass(frozen=True)
class Categorical:
    """One feature per category, including "missing" if some were missing; a new category gets all zeros."""

    name: str
    categories: tuple[str, ...]
    kind: Literal["categorical"] = "categorical"

    @property
    def feature_names(self) -> list[str]:
        return [f"{self.name}={category}" for category in self.categories]

    def apply(self, values: "pd.Series") -> np.ndarray:
        import pandas as pd

        codes = pd.Index(self.categories).get_indexer(pd.Index(as_strings(values)))  # -1: a new category
        features = np.zeros((len(codes), len(self.categories)))
        known = codes >= 0
        features[known, codes[known]] = 1
        return features


@dataclass(frozen=True)
class TfIdf:
    """Words weighted by how rare they are (scikit-learn's TF-IDF); a missing text has no words."""

    name: str
    words: tuple[str, ...]
    idf: tuple[float, ...]
    kind: Literal["tf-idf"] = "tf-idf"

    @property
    def feature_names(self) -> list[str]:
        return [f"{self.name}: {word}" for word in self.words]

    def apply(self, values: "pd.Series") -> np.ndarray:
        from sklearn.feature_extraction.text import TfidfVectorizer

        vectorizer = TfidfVectorizer(vocabulary=list(self.words))
        vectorizer.idf_ = np.array(self.idf)
        return vectorizer.transform(as_strings(values, missing="")).toarray()


@dataclass(frozen=True)
class Hashing:
    """Words hashed into a fixed number of features (scikit-learn's), for text in which new words never end."""

    name: str
    features: int
    kind: Literal["hashing"] = "hashing"

    @property
    def feature_names(self) -> list[str]:
        return [f"{self.name}: hash {number}" for number in range(self.features)]

    def apply(self, values: "pd.Series") -> np.ndarray:
        from sklearn.feature_extraction.text import HashingVectorizer

        hashed: Any = HashingVectorizer(n_features=self.features).transform(as_strings(values, missing=""))
        return hashed.toarray()


# Each is plain data that JSON can hold; ``apply`` turns values into features, shape (N, number of features).
Column = Numeric | Categorical | TfIdf | Hashing
KINDS = tuple(column.kind for column in (Numeric, Categorical, TfIdf, Hashing))


def fit_column(values: "pd.Series", kind: str, text_features: int) -> Column:
    """Fit a column of the given kind to its values."""
    name = str(values.name)
    if kind == "numeric":
        numbers = as_numbers(values)
        largest = float(np.nanmax(np.abs(numbers)))
        if largest > HUGE:
            raise DataError(f"column {name!r}: values up to {largest:.1e}; divide them by a constant, or leave it out")
        std = float(np.nanstd(numbers))
        std = std if std > 1e-12 * largest else 1.0  # less is rounding of a constant
        return Numeric(name, float(np.nanmean(numbers)), std, bool(np.isnan(numbers).any()))
    if kind == "categorical":
        return Categorical(name, tuple(sorted(set(as_strings(values)))))
    if kind == "hashing":
        return Hashing(name, text_features)
    if kind == "tf-idf":
        return fit_tf_idf(values, text_features)
    raise DataError(f"column {name!r}: no kind {kind!r}; there are: {', '.join(KINDS)}, ignore")


def fit_tf_idf(values: "pd.Series", text_features: int) -> TfIdf:
    """The most frequent words of a text column."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer(max_features=text_features)
    try:
        vectorizer.fit(as_strings(values, missing=""))
    except ValueError:  # an empty vocabulary
        raise DataError(
            f"column {values.name!r}: text without words; leave the column out: kinds={{{values.name!r}: 'ignore'}}"
        ) from None
    return TfIdf(str(values.name), tuple(vectorizer.get_feature_names_out().tolist()), tuple(vectorizer.idf_.tolist()))


def guess(values: "pd.Series", text: str, max_categories: int) -> str:
    """The kind that a column looks like: numbers or dates, categories, text, or names of rows (ignored)."""
    from pandas.api import types

    if types.is_numeric_dtype(values) or types.is_bool_dtype(values) or types.is_datetime64_any_dtype(values):
        return "numeric"
    distinct = values.nunique()
    repeated = distinct <= 0.5 * values.notna().sum() or distinct <= 2
    if distinct <= max_categories and repeated:
        return "categorical"
    return "ignore" if names_rows(values.dropna()) else text


def names_rows(values: "pd.Series") -> bool:
    """Whether nearly all values are distinct and one short word each, such as an id or a file name."""
    strings = values.astype(str)
    if len(strings) < MANY or strings.nunique() < DISTINCT * len(strings):
        return False
    one_word = ~strings.str.strip().str.contains(r"\s", regex=True) & (strings.str.len() <= SHORT)
    return bool(one_word.mean() >= DISTINCT)
