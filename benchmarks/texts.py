"""Texts whose labels a lexicon and a language model got wrong: the default beside logistic regression and cleanlab.

    python benchmarks/texts.py --noise FOLDER --seeds 3

``--noise`` has hausa-news-*.csv and relations-by-llm-*.csv. The rivals get TF-IDF of words and of pairs of words. A
seed draws nine tenths of the training set; tests are on all texts with true labels. The last line is the processor time
of the default, in one thread, on 4,700 texts of both kinds, whose classes are told apart.
"""

import argparse
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, log_loss
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

from reweigh import RobustClassifier

TEXTS = ("hausa-news", "relations-by-llm")
MANY = 4_700


Fitted = tuple[Callable[[Any], np.ndarray], np.ndarray, np.ndarray | None]
"""Texts to probabilities, the classes, and the quality of every label."""


def default(texts: Any, labels: np.ndarray, seed: int) -> Fitted:
    """The default."""
    found = RobustClassifier(random_state=seed).fit(texts.to_frame(), labels)
    return lambda more: found.predict_proba(more.to_frame()), found.classes_, found.label_quality_


def logistic(strength: float) -> Callable[[Any, np.ndarray, int], Fitted]:
    """Logistic regression on words and pairs of words."""

    def fitted(texts: Any, labels: np.ndarray, seed: int) -> Fitted:
        model: Any = make_pipeline(words(), LogisticRegression(C=strength, max_iter=1000)).fit(texts, labels)
        return model.predict_proba, model.classes_, None

    return fitted


def cleaned(texts: Any, labels: np.ndarray, seed: int) -> Fitted:
    """Logistic regression without what cleanlab flags."""
    from cleanlab.classification import CleanLearning

    classes, numbers = np.unique(labels, return_inverse=True)
    rows = words()
    found: Any = CleanLearning(LogisticRegression(max_iter=1000), seed=seed).fit(rows.fit_transform(texts), numbers)
    quality = found.get_label_issues()["label_quality"].to_numpy()
    return lambda more: found.predict_proba(rows.transform(more)), classes, quality


def words() -> TfidfVectorizer:
    """TF-IDF of words and pairs of words."""
    return TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, min_df=2)


RIVALS = {
    "default": default,
    "logistic regression, C = 1": logistic(1.0),
    "logistic regression, C = 10": logistic(10.0),
    "cleanlab on logistic regression": cleaned,
}


def measured(train: Any, test: Any, seed: int) -> dict[str, dict[str, float]]:
    """The numbers of each method."""
    wrong, found = (train["given"] != train["true"]).to_numpy(), {}
    for name, fit in RIVALS.items():
        start = time.process_time()
        predict, classes, quality = fit(train["text"], train["given"].to_numpy(), seed)
        seconds = time.process_time() - start
        chances, known = predict(test["text"]), test["true"].isin(list(classes)).to_numpy()
        loss = log_loss(test["true"][known], chances[known], labels=list(classes))
        accuracy = float((classes[chances.argmax(1)] == test["true"].to_numpy()).mean())
        found[name] = {"accuracy": accuracy, "log_loss": loss, "seconds": seconds}
        if quality is not None:
            found[name]["ap"] = float(average_precision_score(wrong, -quality))
    return found


def many(noise: Path) -> Any:
    """MANY texts of both kinds; the name of the kind is part of the class."""
    parts = []
    for name in TEXTS:
        for part in ("train", "test"):
            read: Any = pd.read_csv(noise / f"{name}-{part}.csv")
            given = read["given" if "given" in read else "true"]
            parts.append(pd.DataFrame({"text": read["text"], "given": [f"{name} {label}" for label in given]}))
    return pd.concat(parts).sample(MANY, random_state=0).reset_index(drop=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--noise", type=Path, default=Path())
    parser.add_argument("--seeds", type=int, default=3)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in TEXTS:
        parts: list[Any] = [pd.read_csv(asked.noise / f"{name}-{part}.csv") for part in ("train", "test")]
        train, test = parts
        rows = []
        for seed in range(asked.seeds):
            some: Any = train_test_split(train, train_size=0.9, random_state=seed)[0]
            some = some.reset_index(drop=True)
            rows += [{"method": who, **its} for who, its in measured(some, test, seed).items()]
        share, means = (train["given"] != train["true"]).mean(), pd.DataFrame(rows).groupby("method", sort=False)
        print(f"\n{name}, {share:.0%} of the labels wrong, mean of {asked.seeds} seeds")
        print(pd.DataFrame(means.mean()).round(3).to_string())
    frame, start = many(asked.noise), time.process_time()
    RobustClassifier(random_state=0).fit(frame[["text"]], frame["given"].to_numpy())
    print(f"\n{len(frame):,} texts: {time.process_time() - start:.1f} seconds")


if __name__ == "__main__":
    main()
