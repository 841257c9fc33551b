"""Columns of text: words as features, vectors of words, or the text as it is for a network."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
from scipy.sparse import csr_array, hstack
from torch import Tensor

from reweigh.data.inputs import Inputs, Rows
from reweigh.data.tables.cells import IDEOGRAPHS, MISSING, Cells, as_text, cells_of
from reweigh.errors import DataError, ModelError
from reweigh.files.whole import pinned

if TYPE_CHECKING:
    import pandas as pd
    from sklearn.feature_extraction.text import TfidfVectorizer

MIN_ROWS_FOR_PAIRS = 200  # rows from which pairs of words count, and words that occur only once do not
WORD = rf"[{IDEOGRAPHS}]|[^\W{IDEOGRAPHS}]{{2,}}"  # scikit-learn's words; in Chinese and Japanese, each letter is one
TEXT_FEATURES_LENGTH = (
    16.0  # length of the features of a text, so that they count beside numbers of standard deviation 1
)


@dataclass(frozen=True)
class TfIdf:
    """Words weighted by how rare they are (scikit-learn's TF-IDF); a missing text has no words.

    Attributes:
        words: Words, and pairs of words with a space between them.
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
    pairs = len(texts) >= MIN_ROWS_FOR_PAIRS
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
    return TfIdf(str(values.name), tuple(words), tuple(idf), pairs, TEXT_FEATURES_LENGTH)


def _vectorizer(pairs: bool, **options: Any) -> "TfidfVectorizer":
    from sklearn.feature_extraction.text import TfidfVectorizer

    return TfidfVectorizer(token_pattern=WORD, ngram_range=(1, 2 if pairs else 1), sublinear_tf=pairs, **options)


def _texts(values: "pd.Series") -> np.ndarray:
    return np.where(cells_of(values).codes < 0, np.nan, 1.0)


FILES = {
    "weights/l2_supercat_256.safetensors": "64b47a2dc493cb8e85944076601189739852d7b64e0e1eedcb1937a251cd9fd5",
    "tokenizers/l2_supercat_tokenizer_config.json": "93248f2a9ec36c7b35f700a033d5f36228aae48db61aee31007fa49062cdeb68",
}  # and their SHA-256
TEXTS_AT_ONCE = 1000


@dataclass(frozen=True)
class WordsAndVectors:
    """TF-IDF of the words, and the mean vector of the tokens with mean 0 and standard deviation 1.

    A text without tokens has the mean of the others.
    """

    name: str
    words: TfIdf
    mean: tuple[float, ...]
    std: tuple[float, ...]
    kind: Literal["words and vectors"] = "words and vectors"

    @property
    def feature_names(self) -> list[str]:
        return [*self.words.feature_names, *(f"{self.name}: vector {place}" for place in range(len(self.mean)))]

    def apply(self, values: "pd.Series") -> Any:
        """CSR matrix, shape (N, number of words + 256)."""
        cells = cells_of(values)
        scaled = (mean_vectors(cells.distinct) - np.array(self.mean)) / np.array(self.std)
        scaled = np.vstack([np.nan_to_num(scaled), np.zeros(len(self.mean))])[cells.codes]  # the last one is for gaps
        return csr_array(hstack([self.words.apply(values), csr_array(scaled)]))

    def known(self, values: "pd.Series") -> np.ndarray:
        """Ones, NaN where there is no text."""
        return self.words.known(values)


def fit_words_and_vectors(values: "pd.Series", most: int) -> WordsAndVectors:
    """The most frequent words of a column, and the scale of its vectors."""
    cells = cells_of(values)
    rows, counts = mean_vectors(cells.distinct), np.array(cells.counts, dtype=float)
    there = ~np.isnan(rows).any(axis=1)
    rows, counts = rows[there], counts[there]
    mean = np.average(rows, axis=0, weights=counts)
    std = np.sqrt(np.average((rows - mean) ** 2, axis=0, weights=counts))
    std = np.where(std > 1e-6, std, 1.0)
    return WordsAndVectors(str(values.name), fit_tf_idf(values, most), tuple(mean), tuple(std))


def mean_vectors(texts: list[str]) -> np.ndarray:
    """The mean over the tokens of each text, shape (n, 256); NaN without any."""
    tokenizer, vectors = loaded()
    rows = np.full((len(texts), vectors.shape[1]), np.nan)
    for start in range(0, len(texts), TEXTS_AT_ONCE):
        found = tokenizer.encode_batch(texts[start : start + TEXTS_AT_ONCE], add_special_tokens=False)
        for place, tokens in enumerate(found, start):
            if tokens.ids:
                rows[place] = vectors[tokens.ids].mean(0)
    return rows


@cache
def loaded() -> tuple[Any, np.ndarray]:
    """The tokenizer, and the vector of each token, from the files of the package, whose code is not run."""
    from safetensors.numpy import load

    try:
        from tokenizers import Tokenizer
    except ImportError as error:
        install = "install it: pip install 'reweigh[wordllama]'"
        raise ModelError(f"wordllama: cannot import 'tokenizers' ({error}); {install}") from error
    weights, tokens = pinned("wordllama", "wordllama", FILES, "wordllama")
    (vectors,) = load(weights).values()
    return Tokenizer.from_buffer(tokens), vectors.astype(np.float32)


class TextRows:
    """Features of the columns that are not text, with the text beside them.

    Args:
        rest: Shape (N, D), perhaps with D = 0; what indexing gives.
        texts: The cells of each text column.
    """

    def __init__(self, rest: Tensor, texts: Sequence[Cells]) -> None:
        self.rest = rest
        self.texts = texts

    def __len__(self) -> int:
        return len(self.rest)

    def __getitem__(self, index: Tensor, /) -> Tensor:
        return self.rest[index]

    @classmethod
    def behind(cls, inputs: Inputs) -> "tuple[TextRows, Tensor] | None":
        """The rows that inputs are a selection of, and their indices; None if they have no text."""
        index = torch.arange(len(inputs))
        while isinstance(inputs, Rows):
            inputs, index = inputs.inputs, inputs.index[index]
        return (inputs, index) if isinstance(inputs, cls) else None
