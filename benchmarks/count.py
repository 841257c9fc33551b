"""Do the limits of the share of wrong labels hold: python benchmarks/count.py --noise FOLDER [--data FOLDER]

At most ``--most`` samples of labels with known truth: by people, a lexicon, a language model and feature-dependent
(``--noise``; CIFAR-10 as features.npz in ``--data``), drawn at random, and right ones of tables whose classes overlap
(``--tables`` holds tables.py, which loads them). ``--seed`` draws rows and wrong labels. Labels are counted by
out-of-fold predictions of ordinary classifiers, a forest for tables and logistic regression for the rest, or, with
``--default``, by a fit of the default, which takes a hundred times as long. Prints estimate, limits and truth of each,
how many limits hold the truth, of all and of those of people, rules and models, and their width where labels are wrong
at random. With ``--decided`` the true labels answer for the worst labels first, and what is left is counted.
"""

import argparse
import importlib
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_digits, load_wine, make_classification
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from cells import overlapping
from predictions import CLASSIFIERS, PEOPLE, TEXTS, flipped
from reweigh import RobustClassifier
from reweigh.issues import labels as counting
from reweigh.issues.count import Count, count_wrong

PART = 0.8  # of the rows of a small table
MORE_PEOPLE = (*PEOPLE, "cifar10n-random2", "cifar10n-random3")
REAL = (*MORE_PEOPLE, *TEXTS)
WITH_FLIPS = ("segment", "mushroom", "twonorm", "vowel", "chess")

Labeled = tuple[str, Any, NDArray[np.int64], NDArray[np.int64]]
"""Name, inputs, given and true labels."""


def real(data: Path, noise: Path, seed: int, first: int, most: int) -> Iterator[Labeled]:
    """Labels that are wrong in the way people, rules and models are wrong; and photos with labels wrong at random."""
    if (data / "features.npz").is_file():
        features = np.load(data / "features.npz")
        some = slice(first, first + most)
        inputs, true = features["x_train"][some], features["y_train"][some].astype(np.int64)
        for name in MORE_PEOPLE:
            yield name, inputs, np.load(noise / f"{name}.npy").ravel()[some].astype(np.int64), true
        for kind, rate in (("sym", 0.2), ("sym", 0.4), ("way", 0.3), ("sym", 0.0)):
            yield f"cifar-{kind}{rate}", inputs, flipped(true, kind, rate, seed), true
    for name in TEXTS:
        table = pd.read_csv(noise / f"{name}-train.csv", dtype=str)
        classes = {each: number for number, each in enumerate(sorted({*table.true, *table.given}))}
        table = table.sample(frac=PART, random_state=seed)
        words: Any = TfidfVectorizer(min_df=2, sublinear_tf=True, max_features=4000).fit_transform(table.text)
        rows = words.toarray().astype(np.float32)
        numbers = [np.array([classes[each] for each in table[column]], np.int64) for column in ("given", "true")]
        yield name, rows / rows.std(), numbers[0], numbers[1]


def drawn(seed: int, most: int) -> Iterator[Labeled]:
    """Labels that are wrong at random, and overlapping classes whose labels are right."""
    inputs: Any
    true: Any
    inputs, true = load_digits(return_X_y=True)
    some = np.random.default_rng(seed).permutation(len(true))[:most]
    inputs, true = inputs[some], true[some]
    for kind, rate in (("sym", 0.0), ("sym", 0.05), ("sym", 0.2), ("sym", 0.4), ("way", 0.2)):
        yield f"digits-{kind}{rate}", inputs.astype(np.float32), flipped(true, kind, rate, seed), true
    for rate in (0.1, 0.25):  # five of the ten classes only
        wrong = (true % 2 == 1) & (np.random.default_rng(seed).random(len(true)) < rate)
        yield f"digits-odd{rate}", inputs.astype(np.float32), np.where(wrong, (true + 2) % 10, true), true
    inputs, true = make_classification(
        most, 40, n_informative=12, n_redundant=8, n_classes=5, n_clusters_per_class=3, flip_y=0, random_state=6 + seed
    )
    for rate in (0.1, 0.3):
        yield f"made-sym{rate}", inputs.astype(np.float32), flipped(true, "sym", rate, seed), true
    for name, load in (("cancer", load_breast_cancer), ("wine", load_wine)):
        inputs, true = load(return_X_y=True)
        yield f"{name}-sym0.2", inputs.astype(np.float32), flipped(true, "sym", 0.2, seed), true
    for accuracy in (60, 80):
        inputs, true = overlapping(accuracy / 100, most)
        yield f"overlap{accuracy}", inputs.astype(np.float32), true, true


def tables(folder: Path, seed: int, most: int) -> Iterator[Labeled]:
    """Published tables, whose labels count as right, and some of them with wrong labels."""
    sys.path.insert(0, str(folder))
    published = importlib.import_module("tables")
    for name in published.SETS:
        frame, labels = published.load(name)
        some = np.random.default_rng(seed).permutation(len(labels))[: min(most, round(PART * len(labels)))]
        frame, true = frame.iloc[some].reset_index(drop=True), pd.factorize(labels[some], sort=True)[0].astype(np.int64)
        yield name, frame, true, true
        if name in WITH_FLIPS:
            yield f"{name}-sym0.2", frame, flipped(true, "sym", 0.2, seed), true


def by_default(inputs: Any, labels: NDArray[np.int64], seed: int) -> Count | None:
    """The count of a fit of the default; None if nothing is counted."""
    found: list[Count] = []

    def noted(*given: Any) -> Count:
        found.append(count_wrong(*given))
        return found[-1]

    with patch.object(counting, "count_wrong", noted):
        RobustClassifier(random_state=seed).fit(inputs, labels)
    return found[-1] if found else None


def unseen(inputs: Any, labels: NDArray[np.int64], classes: int, seed: int) -> torch.Tensor:
    """Out-of-fold predictions by a forest for tables, by logistic regression for the rest; as if classes were equal."""
    classifier: Any
    if isinstance(inputs, pd.DataFrame):
        columns = [inputs[name] for name in inputs]
        numbers = [each if each.dtype.kind in "iufb" else pd.Series(pd.factorize(each)[0]) for each in columns]
        inputs = np.stack([np.nan_to_num(each.to_numpy(float), nan=-1.0) for each in numbers], 1)
        classifier = RandomForestClassifier(100, min_samples_leaf=3, random_state=seed)
    else:
        inputs = PCA(min(100, *inputs.shape), random_state=0).fit_transform(inputs)
        classifier = make_pipeline(StandardScaler(), CLASSIFIERS["logreg"]())
    known, numbered, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    found: Any = cross_val_predict(classifier, inputs, numbered, cv=folds, method="predict_proba")
    rows = torch.zeros(len(labels), classes, dtype=torch.float64)
    rows[:, torch.from_numpy(known)] = torch.from_numpy(found * len(labels) / sizes)
    return rows / rows.sum(1, keepdim=True)


def by_classifier(
    inputs: Any, labels: NDArray[np.int64], true: NDArray[np.int64], seed: int, decided: float
) -> tuple[Count, float]:
    """The count by such predictions, and the true share; after decisions about the worst labels, of those left."""
    classes = int(max(labels.max(), true.max())) + 1
    given, everything = F.one_hot(torch.from_numpy(labels), classes).double(), torch.arange(len(labels))
    known, corrected, right = torch.zeros(len(labels), dtype=torch.bool), given, labels
    first = unseen(inputs, labels, classes, seed)
    if decided:
        stock, _ = counting.Labels(given, given, known).take_stock(first, first, everything)
        worst = (given * stock.posterior).sum(1).argsort()[: round(decided * len(labels))]
        known[worst] = True
        right = np.where(known.numpy(), true, labels)
        corrected, first = F.one_hot(torch.from_numpy(right), classes).double(), unseen(inputs, right, classes, seed)
    _, count = counting.Labels(corrected, given, known).take_stock(first, first, everything)
    return count, float((right != true).mean())


def main() -> None:
    """Run, and say what came out."""
    parser = argparse.ArgumentParser(description="Do the limits of the share of wrong labels hold?")
    parser.add_argument("--noise", type=Path, required=True, help="folder with the label files")
    parser.add_argument("--data", type=Path, default=Path("data"), help="folder with features.npz of CIFAR-10")
    parser.add_argument("--tables", type=Path, help="folder with tables.py")
    parser.add_argument("--seed", type=int, default=1, help="which rows, wrong labels and networks are drawn")
    parser.add_argument("--first", type=int, default=0, help="first sample of CIFAR-10")
    parser.add_argument("--most", type=int, default=4000, help="number of samples of a large dataset")
    parser.add_argument("--default", action="store_true", help="count by a fit of the default")
    parser.add_argument("--decided", type=float, default=0.0, help="share of the labels, the worst, to decide about")
    given = parser.parse_args()
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    held: dict[str, bool] = {}
    widths: list[float] = []
    print(f"{'':34}{'truth':>7}{'estimate':>10}{'from':>7}{'to':>7}")
    for name, inputs, labels, true in (
        *real(given.data, given.noise, given.seed, given.first, given.most),
        *drawn(given.seed, given.most),
        *(tables(given.tables, given.seed, given.most) if given.tables else ()),
    ):
        if given.default:
            count, truth = by_default(inputs, labels, given.seed), float((labels != true).mean())
        else:
            count, truth = by_classifier(inputs, labels, true, given.seed, given.decided)
        if count is None:
            continue
        share, low, high, *_ = count
        held[name] = low - 1e-9 <= truth <= high + 1e-9
        if count.at_random:
            widths.append(high - low)
        words = f"{'at random' if count.at_random else '':12}{'' if held[name] else 'MISSED'}"
        print(f"{name:34}{truth:7.3f}{share:10.3f}{low:7.3f}{high:7.3f}  {words}", flush=True)
    by_others = [holds for name, holds in held.items() if name in REAL]
    print(f"truth within the limits in {sum(held.values())} of {len(held)}, {sum(by_others)} of {len(by_others)} real")
    print(f"width where labels are taken to be wrong at random: {np.mean(widths):.3f} on average, {len(widths)} cases")


if __name__ == "__main__":
    main()
