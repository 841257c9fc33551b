"""Out-of-fold predictions of five ordinary classifiers for labels with known truth; other benchmarks read them.

Labels: those of ``--noise`` (by people, a lexicon, a language model, and feature-dependent ones), and labels of small
tables with some drawn at random. Predictions are computed once and kept in a folder.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_digits, make_classification
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

CLASSIFIERS: dict[str, Callable[[], Any]] = {
    "logreg": lambda: LogisticRegression(C=0.1, max_iter=100),
    "knn": lambda: KNeighborsClassifier(20),
    "forest": lambda: RandomForestClassifier(100, min_samples_leaf=2, random_state=0),
    "bayes": GaussianNB,
    "mlp": lambda: MLPClassifier((64,), max_iter=15, random_state=0),
}
TEXTS = ("hausa-news", "relations-by-llm")
PEOPLE = ("cifar10n-aggregate", "cifar10n-random1", "cifar10-feature-dependent-1-35", "cifar10-feature-dependent-2-35")
DIGITS = (("sym", 0.02), ("sym", 0.13), ("sym", 0.4), ("way", 0.2))


class Case(NamedTuple):
    """Given and true labels, and predictions of a classifier for the given ones, shape (N, C)."""

    given: NDArray[np.int64]
    true: NDArray[np.int64]
    predictions: NDArray[np.float64]

    @property
    def wrong(self) -> NDArray[np.bool_]:
        """Which labels are wrong."""
        return self.given != self.true


def flipped(true: NDArray[np.int64], kind: str, rate: float, seed: int) -> NDArray[np.int64]:
    """Labels, some of them wrong: "sym" to any other class, "way" to the next one."""
    random, classes = np.random.default_rng(seed), int(true.max()) + 1
    hit, step = random.random(len(true)) < rate, random.integers(1, classes, len(true))
    return np.where(hit, (true + (1 if kind == "way" else step)) % classes, true)


def labeled(data: Path, noise: Path) -> Iterator[tuple[str, Any, NDArray[np.int64], NDArray[np.int64]]]:
    """Name, inputs, given labels and true labels of every kind."""
    for name in TEXTS:
        table = pd.read_csv(noise / f"{name}-train.csv", dtype=str)
        classes = {each: number for number, each in enumerate(sorted({*table.true, *table.given}))}
        words: Any = TfidfVectorizer(sublinear_tf=True, ngram_range=(1, 2), min_df=2).fit_transform(table.text)
        numbers = [np.array([classes[each] for each in table[column]], np.int64) for column in ("given", "true")]
        yield name, TruncatedSVD(100, random_state=0).fit_transform(words), numbers[0], numbers[1]
    inputs: Any
    true: Any
    inputs, true = load_digits(return_X_y=True)
    for kind, rate in DIGITS:
        yield f"digits-{kind}{rate}", inputs, flipped(true, kind, rate, 1), true
    made: dict[str, Any] = {"n_samples": 3000, "n_features": 20, "flip_y": 0}
    inputs, true = make_classification(**made, n_informative=6, n_classes=4, random_state=0)
    yield "made-sym0.2", inputs, flipped(true, "sym", 0.2, 2), true
    inputs, true = make_classification(**made, n_informative=5, weights=[0.9], class_sep=0.8, random_state=1)
    yield "rare-sym0.1", inputs, flipped(true, "sym", 0.1, 2), true
    inputs, true = load_breast_cancer(return_X_y=True)
    yield "cancer-sym0.1", inputs, flipped(true, "sym", 0.1, 3), true
    if (data / "features.npz").is_file():
        features = np.load(data / "features.npz")
        inputs, true = PCA(100, random_state=0).fit_transform(features["x_train"]), features["y_train"]
        for name in PEOPLE:
            yield name, inputs, np.load(noise / f"{name}.npy").ravel()[: len(true)].astype(np.int64), true
        for rate in (0.2, 0.4):
            yield f"cifar-sym{rate}", inputs, flipped(true, "sym", rate, 5), true


def cases(
    data: Path, noise: Path, kept: Path, classifiers: Sequence[str] = tuple(CLASSIFIERS)
) -> Iterator[tuple[str, Case]]:
    """Every kind of labels and every classifier.

    Args:
        data: Folder with features.npz (x_train, y_train) of CIFAR-10; without it, its labels are left out.
        noise: Folder with the label files.
        kept: Folder in which predictions are kept.
        classifiers: Names of the classifiers.
    """
    kept.mkdir(parents=True, exist_ok=True)
    for name, inputs, given, true in labeled(data, noise):
        for called in classifiers:
            file = kept / f"{name}--{called}.npz"
            if not file.is_file():
                folds = StratifiedKFold(5, shuffle=True, random_state=0)
                found: Any = cross_val_predict(
                    make_pipeline(StandardScaler(), CLASSIFIERS[called]()),
                    inputs,
                    given,
                    cv=folds,
                    method="predict_proba",
                )
                rows = np.zeros((len(given), max(int(given.max()), int(true.max())) + 1), np.float32)
                rows[:, np.unique(given)] = found
                np.savez_compressed(file, rows=rows)
            rows = np.load(file)["rows"].astype(np.float64)
            yield f"{name} {called}", Case(given, true, rows / rows.sum(1, keepdims=True))
