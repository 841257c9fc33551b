"""A column of text as its words and as the mean of its token vectors, which the package wordllama holds."""

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy.sparse import csr_array, hstack

from reweigh.data.tables.cells import cells_of
from reweigh.data.tables.text import TfIdf, fit_tf_idf
from reweigh.errors import ModelError
from reweigh.files.seals import pinned

if TYPE_CHECKING:
    import pandas as pd

FILES = {
    "weights/l2_supercat_256.safetensors": "64b47a2dc493cb8e85944076601189739852d7b64e0e1eedcb1937a251cd9fd5",
    "tokenizers/l2_supercat_tokenizer_config.json": "93248f2a9ec36c7b35f700a033d5f36228aae48db61aee31007fa49062cdeb68",
}  # and their SHA-256
AT_ONCE = 1000  # texts


@dataclass(frozen=True)
class WordsAndVectors:
    """TF-IDF of the words, and the mean vector of the tokens with mean 0 and standard deviation 1.

    A text without tokens has the mean of the others.

    Attributes:
        words: The words.
        mean: Mean of each number of the vectors in the fitted table.
        std: Their standard deviations.
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
    for start in range(0, len(texts), AT_ONCE):
        found = tokenizer.encode_batch(texts[start : start + AT_ONCE], add_special_tokens=False)
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
