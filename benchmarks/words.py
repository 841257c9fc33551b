"""Text with wrong labels beside logistic regression: python benchmarks/words.py --noise FOLDER

Two sets: headlines in Hausa (``--noise`` holds hausa-news-train.csv and -test.csv), with the labels of a lexicon and
with 40 % symmetric noise; and English: the first sentences of the docstrings of six installed packages, whose label is
the package, with 40 % symmetric noise. ``RobustClassifier`` on the table with its text column, everything default, and
with ``features="wordllama"`` (extra ``wordllama``), beside logistic regression on TF-IDF of words and pairs with the
best C by five-fold cross-validation on the given labels, and label quality by cleanlab (extra ``bench``) from its
out-of-fold predictions. Prints accuracy on true labels, average precision of the ranking of wrong labels, and processor
seconds. The exit code is 1 where the default is behind. ``--held-out`` prints instead what share of the given labels of
a held-out third is predicted, the mean of three, for the default and for wordllama; it uses no true label.
"""

import argparse
import importlib
import inspect
import pkgutil
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from cleanlab.rank import get_label_quality_scores
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.model_selection import cross_val_predict

from reweigh import RobustClassifier
from reweigh.bias import BIASES

PACKAGES = ("matplotlib", "numpy", "pandas", "scipy", "sklearn", "torch")
EACH, TEST = 500, 200  # sentences of each package, and of these for testing
FEATURES = ("auto", "wordllama")
STRENGTHS = (0.1, 0.3, 1.0, 3.0, 10.0)


def sentences(package: str) -> list[str]:
    """The first paragraphs of the docstrings of a package's functions, classes and methods, each once."""
    root = importlib.import_module(package)
    found: dict[str, None] = {}
    for module in [package, *(each.name for each in pkgutil.iter_modules(root.__path__, f"{package}."))]:
        try:
            members = inspect.getmembers(importlib.import_module(module))
        except BaseException:  # (an optional dependency is missing, or a script that exits)
            continue
        for _, member in members:
            if not str(getattr(member, "__module__", "")).startswith(package):
                continue
            methods = inspect.getmembers(member, inspect.isfunction) if inspect.isclass(member) else []
            for thing in [member, *(method for _, method in methods)]:
                text = " ".join((inspect.getdoc(thing) or "").split("\n\n")[0].split())
                if 20 < len(text) < 300:
                    found[text] = None
    return list(found)


def english() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Sentences with the package that they are from, to train and to test on."""
    parts = []
    seen: set[str] = set()
    for package in PACKAGES:
        own = [text for text in sentences(package) if text not in seen]
        seen |= {*own}
        chosen = np.random.default_rng(0).permutation(len(own))[: EACH + TEST]
        parts.append(pd.DataFrame({"text": [own[place] for place in chosen], "true": package}))
    test = pd.concat([part.iloc[EACH:] for part in parts])
    return pd.concat([part.iloc[:EACH] for part in parts]).sample(frac=1, random_state=0, ignore_index=True), test


def symmetric(true: pd.Series, seed: int) -> NDArray:
    """40 % of the labels drawn anew."""
    names = sorted(true.unique())
    numbers = torch.tensor([names.index(name) for name in true])
    return np.array(names)[BIASES["symmetric"](numbers, len(names), seed, rate=0.4).labels.numpy()]


def logistic(train: pd.DataFrame, given: NDArray, test: pd.DataFrame) -> tuple[float, float]:
    """Accuracy and average precision of logistic regression on TF-IDF."""
    words = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, min_df=2, max_features=20_000)
    rows, names = words.fit_transform(train["text"]), np.unique(given)
    best = (-1.0, 0.0, np.empty(0))
    for strength in STRENGTHS:
        model = LogisticRegression(C=strength, max_iter=1000)
        held_out = np.asarray(cross_val_predict(model, rows, given, cv=5, method="predict_proba"))
        right = float((names[held_out.argmax(1)] == given).mean())
        best = (right, strength, held_out) if right > best[0] else best
    model = LogisticRegression(C=best[1], max_iter=1000).fit(rows, given)
    quality = get_label_quality_scores(np.searchsorted(names, given), best[2])
    accuracy = 100 * float((model.predict(words.transform(test["text"])) == test["true"]).mean())
    return accuracy, float(average_precision_score(given != train["true"], 1 - quality))


def held_out(rows: pd.DataFrame, given: NDArray, features: str, seed: int) -> float:
    """The share of given labels that is predicted by models that did not see them."""
    fold = np.random.default_rng(0).permutation(len(rows)) % 3
    shares = []
    for out in (fold == number for number in range(3)):
        model = RobustClassifier(features=features, random_state=seed)
        model.fit(rows.loc[~out, ["text"]].reset_index(drop=True), given[~out])
        shares.append(float((model.predict(rows.loc[out, ["text"]]) == given[out]).mean()))
    return round(100 * float(np.mean(shares)), 1)


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--noise", type=Path, required=True)
    parser.add_argument("--only", choices=("lexicon", "hausa", "english"))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--held-out", action="store_true")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    train, test = (pd.read_csv(arguments.noise / f"hausa-news-{part}.csv") for part in ("train", "test"))
    cells = {"lexicon": lambda: (train, train["given"].to_numpy(), test)}
    cells["hausa"] = lambda: (train, symmetric(pd.Series(train["true"]), arguments.seed), test)
    cells["english"] = lambda: ((both := english())[0], symmetric(pd.Series(both[0]["true"]), arguments.seed), both[1])
    behind = []
    for name, make in cells.items():
        if arguments.only not in (None, name):
            continue
        rows, given, clean = make()
        if arguments.held_out:
            shares = {features: held_out(rows, given, features, arguments.seed) for features in FEATURES}
            print(f"{name:8} held-out given labels: {shares}", flush=True)
            continue
        found = {}
        for features in FEATURES:
            begun = time.process_time()
            model = RobustClassifier(features=features, random_state=arguments.seed).fit(rows[["text"]], given)
            seconds = time.process_time() - begun
            accuracy = 100 * float((model.predict(clean[["text"]]) == clean["true"]).mean())
            quality = model.label_issues_["label_quality"].reindex(rows.index)
            precision = float(average_precision_score(given != rows["true"], 1 - quality))
            found[features] = accuracy, precision
            print(f"{name:8} reweigh, {features} {accuracy:.1f}, {precision:.3f} ({seconds:.0f} s)", flush=True)
        theirs = logistic(rows, given, clean)
        print(f"{name:8} logistic regression {theirs[0]:.1f}, {theirs[1]:.3f}", flush=True)
        if found["auto"][0] < theirs[0] or found["auto"][1] < theirs[1]:
            behind.append(name)
    if not arguments.held_out:
        print(f"behind: {', '.join(behind)}" if behind else "ahead everywhere")
    return int(bool(behind))


if __name__ == "__main__":
    sys.exit(main())
