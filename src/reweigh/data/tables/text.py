"""How a column of text becomes features: sparse TF-IDF of words and pairs of words, or by a network."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy.sparse import csr_array

from reweigh.data.tables.cells import IDEOGRAPHS, MISSING, as_text, cells_of
from reweigh.errors import DataError

if TYPE_CHECKING:
    import pandas as pd
    from sklearn.feature_extraction.text import TfidfVectorizer

MANY = 200  # rows from which pairs of words count, and words that occur only once do not
WORD = rf"[{IDEOGRAPHS}]|[^\W{IDEOGRAPHS}]{{2,}}"  # scikit-learn's words; in Chinese and Japanese, each letter is one
SCALE = 16.0  # length of the features of a text, so that they count beside numbers of standard deviation 1


@dataclass(frozen=True)
class TfIdf:
    """Words weighted by how rare they are (scikit-learn's TF-IDF); a missing text has no words.

    Attributes:
        words: Words, and pairs of words with a space between them.
        idf: Weight of each.
        pairs: Whether pairs of words are looked for.
        scale: Length of the features of a text.
    """

    name: str
    words: tuple[str, ...]
    idf: tuple[float, ...]
    pairs: bool = False
    scale: float = 1.0
    kind: Literal["tf-idf"] = "tf-idf"

    @property
    def feature_names(self) -> list[str]:
        return [f"{self.name}: {word}" for word in self.words]

    def apply(self, values: "pd.Series") -> Any:
        """CSR matrix, shape (N, number of words)."""
        if not len(values):  # scikit-learn wants a row
            return csr_array((0, len(self.words)))
        vectorizer = _vectorizer(self.pairs, vocabulary=list(self.words))
        vectorizer.idf_ = np.array(self.idf)
        rows: Any = vectorizer.transform(as_text(values))
        return rows * self.scale

    def known(self, values: "pd.Series") -> np.ndarray:
        """Ones, NaN where there is no text."""
        return _texts(values)


@dataclass(frozen=True)
class Plain:
    """Text as it is, which a network turns into features.

    Attributes:
        flag: Whether a feature marks missing text, because some was missing in the fitted table.
    """

    name: str
    flag: bool
    kind: Literal["plain text"] = "plain text"

    @property
    def feature_names(self) -> list[str]:
        return [f"{self.name} {MISSING}"] * self.flag

    def apply(self, values: "pd.Series") -> np.ndarray:
        return np.isnan(self.known(values))[:, None][:, : int(self.flag)]

    def known(self, values: "pd.Series") -> np.ndarray:
        """Ones, NaN where there is no text."""
        return _texts(values)


def fit_tf_idf(values: "pd.Series", most: int) -> TfIdf:
    """The most frequent words of a text column, and in long columns pairs of words."""
    texts = as_text(values)
    pairs = len(texts) >= MANY
    vectorizer = _vectorizer(pairs, max_features=most, min_df=2 if pairs else 1)
    try:
        vectorizer.fit(texts)
    except ValueError:  # an empty vocabulary
        try:
            vectorizer = _vectorizer(pairs, max_features=most).fit(texts)
        except ValueError:
            raise DataError(
                f"column {values.name!r}: text without words; leave the column out (--drop COLUMN, or data.columns)"
            ) from None
    words, idf = vectorizer.get_feature_names_out().tolist(), vectorizer.idf_.tolist()
    return TfIdf(str(values.name), tuple(words), tuple(idf), pairs, SCALE)


def fit_plain(values: "pd.Series") -> Plain:
    """Text as it is, and whether some is missing."""
    return Plain(str(values.name), bool(np.isnan(_texts(values)).any()))


def _vectorizer(pairs: bool, **options: Any) -> "TfidfVectorizer":
    from sklearn.feature_extraction.text import TfidfVectorizer

    return TfidfVectorizer(token_pattern=WORD, ngram_range=(1, 2 if pairs else 1), sublinear_tf=pairs, **options)


def _texts(values: "pd.Series") -> np.ndarray:
    return np.where(cells_of(values).codes < 0, np.nan, 1.0)
