"""Do the limits of the share of wrong labels hold: python benchmarks/count.py --noise FOLDER [--data FOLDER]

Fits the default to at most 4,000 samples of labels with known truth: by people, a lexicon, a language model and
feature-dependent (``--noise``; CIFAR-10 as features.npz in ``--data``), drawn at random, and right ones of tables whose
classes overlap (``--tables`` holds tables.py, which loads them). Prints estimate, limits and truth of each, the share
of limits that hold the truth, and the mean width where labels are taken to be wrong at random.
"""

import argparse
import importlib
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_digits, load_wine, make_classification
from sklearn.feature_extraction.text import TfidfVectorizer

from cells import overlapping
from predictions import PEOPLE, TEXTS, flipped
from reweigh import RobustClassifier

MOST = 4000
MORE_PEOPLE = (*PEOPLE, "cifar10n-random2", "cifar10n-random3")
WITH_FLIPS = ("segment", "mushroom", "twonorm", "vowel", "chess")

Labeled = tuple[str, Any, NDArray[np.int64], NDArray[np.int64]]
"""Name, inputs, given and true labels."""


def real(data: Path, noise: Path, seed: int, first: int) -> Iterator[Labeled]:
    """Labels that are wrong in the way people, rules and models are wrong."""
    if (data / "features.npz").is_file():
        features = np.load(data / "features.npz")
        some = slice(first, first + MOST)
        inputs, true = features["x_train"][some], features["y_train"][some].astype(np.int64)
        for name in MORE_PEOPLE:
            yield name, inputs, np.load(noise / f"{name}.npy").ravel()[some].astype(np.int64), true
        for kind, rate in (("sym", 0.2), ("sym", 0.4), ("way", 0.3), ("sym", 0.0)):
            yield f"cifar-{kind}{rate}", inputs, flipped(true, kind, rate, seed), true
    for name in TEXTS:
        table = pd.read_csv(noise / f"{name}-train.csv", dtype=str)
        classes = {each: number for number, each in enumerate(sorted({*table.true, *table.given}))}
        words: Any = TfidfVectorizer(min_df=2, sublinear_tf=True, max_features=4000).fit_transform(table.text)
        rows = words.toarray().astype(np.float32)
        numbers = [np.array([classes[each] for each in table[column]], np.int64) for column in ("given", "true")]
        yield name, rows / rows.std(), numbers[0], numbers[1]


def drawn(seed: int) -> Iterator[Labeled]:
    """Labels that are wrong at random, and overlapping classes whose labels are right."""
    inputs: Any
    true: Any
    inputs, true = load_digits(return_X_y=True)
    for kind, rate in (("sym", 0.0), ("sym", 0.05), ("sym", 0.2), ("sym", 0.4), ("way", 0.2)):
        yield f"digits-{kind}{rate}", inputs.astype(np.float32), flipped(true, kind, rate, seed), true
    for rate in (0.1, 0.25):  # five of the ten classes only
        wrong = (true % 2 == 1) & (np.random.default_rng(seed).random(len(true)) < rate)
        yield f"digits-odd{rate}", inputs.astype(np.float32), np.where(wrong, (true + 2) % 10, true), true
    inputs, true = make_classification(
        MOST, 40, n_informative=12, n_redundant=8, n_classes=5, n_clusters_per_class=3, flip_y=0, random_state=6 + seed
    )
    for rate in (0.1, 0.3):
        yield f"made-sym{rate}", inputs.astype(np.float32), flipped(true, "sym", rate, seed), true
    for name, load in (("cancer", load_breast_cancer), ("wine", load_wine)):
        inputs, true = load(return_X_y=True)
        yield f"{name}-sym0.2", inputs.astype(np.float32), flipped(true, "sym", 0.2, seed), true
    for accuracy in (60, 80):
        inputs, true = overlapping(accuracy / 100, 3000)
        yield f"overlap{accuracy}", inputs.astype(np.float32), true, true


def tables(folder: Path, seed: int) -> Iterator[Labeled]:
    """Published tables, whose labels count as right, and some of them with wrong labels."""
    sys.path.insert(0, str(folder))
    published = importlib.import_module("tables")
    for name in published.SETS:
        frame, labels = published.load(name)
        true = pd.factorize(labels[:MOST], sort=True)[0].astype(np.int64)
        yield name, frame[:MOST], true, true
        if name in WITH_FLIPS:
            yield f"{name}-sym0.2", frame[:MOST], flipped(true, "sym", 0.2, seed), true


def main() -> None:
    """Run, and say what came out."""
    parser = argparse.ArgumentParser(description="Do the limits of the share of wrong labels hold?")
    parser.add_argument("--noise", type=Path, required=True, help="folder with the label files")
    parser.add_argument("--data", type=Path, default=Path("data"), help="folder with features.npz of CIFAR-10")
    parser.add_argument("--tables", type=Path, help="folder with tables.py")
    parser.add_argument("--seed", type=int, default=1, help="which labels are wrong, where that is drawn")
    parser.add_argument("--first", type=int, default=0, help="first sample of CIFAR-10")
    given = parser.parse_args()
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    held, widths = [], []
    print(f"{'':34}{'truth':>7}{'estimate':>10}{'from':>7}{'to':>7}")
    for name, inputs, labels, true in (
        *drawn(given.seed),
        *(tables(given.tables, given.seed) if given.tables else ()),
        *real(given.data, given.noise, given.seed, given.first),
    ):
        finding = RobustClassifier(random_state=0).fit(inputs, labels).finding_
        if finding is None:
            continue
        sizes = np.bincount(labels, minlength=len(finding.share))[: len(finding.share)] / len(labels)
        share, low, high = (float(sizes @ np.array(each)) for each in (finding.share, finding.low, finding.high))
        truth = float((labels != true).mean())
        held.append(low - 1e-9 <= truth <= high + 1e-9)
        if at_random := "does not depend on the input" in finding.claim:
            widths.append(high - low)
        words = f"{'at random' if at_random else '':12}{'' if held[-1] else 'MISSED'}"
        print(f"{name:34}{truth:7.3f}{share:10.3f}{low:7.3f}{high:7.3f}  {words}", flush=True)
    print(f"truth within the limits in {sum(held)} of {len(held)}; mean width at random {np.mean(widths):.3f}")


if __name__ == "__main__":
    main()
