"""Tables of all kinds, labels right and wrong: the default beside networks, trees and what people use.

    python benchmarks/tables.py --data FOLDER --seeds 3 --results tables.jsonl

Two thirds of each table train, at most ``--rows``, with labels as ``--kinds`` says; the rest, with true labels, is for
testing. ``--data`` is the folder with tables.py. Every cell is a line of ``--results``; a cell that is there is not run
again. Times are processor time in one thread, as multiples of "boosted trees, cleaned" in the same cell.
"""

import argparse
import importlib
import json
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.model_selection import train_test_split

from probabilities import columns, measured
from reweigh import RobustClassifier

SHOWN = ("accuracy", "balanced", "log_loss", "ap", "times")


def cleaned(X: Any, given: np.ndarray) -> tuple[Any, np.ndarray]:
    """Boosted trees without the rows that cleanlab flags, and the quality of every label."""
    from cleanlab.classification import CleanLearning

    classes, numbers = np.unique(given, return_inverse=True)
    found: Any = CleanLearning(HistGradientBoostingClassifier(random_state=0), seed=0).fit(X, numbers)
    found.classes_ = classes
    issues = found.get_label_issues()
    assert issues is not None
    return found, issues["label_quality"].to_numpy()


def ours(seed: int, **parameters: Any) -> Callable[[pd.DataFrame, np.ndarray], tuple[Any, np.ndarray]]:
    """The default, or a part of it."""

    def fitted(X: pd.DataFrame, given: np.ndarray) -> tuple[Any, np.ndarray]:
        found = RobustClassifier(random_state=seed, **parameters).fit(X, given)
        return found, found.label_quality_

    return fitted


def cell(X: pd.DataFrame, true: np.ndarray, noisy: np.ndarray, rows: int, seed: int) -> dict[str, dict[str, float]]:
    """All numbers of one table with one kind of labels."""
    train, test = train_test_split(np.arange(len(true)), test_size=1 / 3, stratify=true, random_state=seed)
    train = train[:rows]
    given, wrong = noisy[train], noisy[train] != true[train]
    own, own_test = (X.iloc[index].reset_index(drop=True) for index in (train, test))
    encode = columns(scale=True).fit(own)
    encoded, encoded_test = np.asarray(encode.transform(own)), np.asarray(encode.transform(own_test))
    networks = {"method": "two-looks", "method_options": {"beside": "none"}}
    rivals: dict[str, tuple[Any, bool]] = {
        "default": (ours(seed), True),
        "networks alone": (ours(seed, **networks), True),
        "trees alone": (ours(seed, model="boosted-trees"), True),
        "boosted trees, cleaned": (cleaned, False),
        "boosted trees": (lambda X, y: (HistGradientBoostingClassifier(random_state=0).fit(X, y), None), False),
        "forest": (lambda X, y: (RandomForestClassifier(200, random_state=0).fit(X, y), None), False),
        "logistic regression": (lambda X, y: (LogisticRegression(max_iter=2000).fit(X, y), None), False),
    }
    found = {}
    for name, (fit, raw) in rivals.items():
        start = time.process_time()
        model, quality = fit(own if raw else encoded, given)
        spent = time.process_time() - start
        chances = model.predict_proba(own_test if raw else encoded_test)
        found[name] = measured(true[test], chances, model.classes_) | {"seconds": spent}
        if quality is not None and wrong.any():
            found[name]["ap"] = float(average_precision_score(wrong, -quality))
    for row in found.values():
        row["times"] = row["seconds"] / found["boosted trees, cleaned"]["seconds"]
    return found


def show(results: list[dict[str, Any]], kind: str) -> None:
    """Means of one kind of labels, and how often the default is within a point of the best accuracy.

    A cell is a table: its numbers are means over seeds.
    """
    own = [each for each in results if each["kind"] == kind]
    if not own:
        return
    cells = [
        [each["rows"] for each in own if each["table"] == table] for table in dict.fromkeys(e["table"] for e in own)
    ]

    def mean(name: str, key: str) -> np.ndarray:
        return np.array([np.mean([row[name].get(key, np.nan) for row in cell]) for cell in cells])

    print(f"\n{kind}, mean of {len(cells)} tables, {len(own)} runs")
    for name in own[0]["rows"]:
        print(f"  {name:24}" + "".join(f"  {key} {mean(name, key).mean():.3f}" for key in SHOWN))
    others = ("boosted trees, cleaned", "boosted trees", "forest", "logistic regression")
    behind = np.max([mean(name, "accuracy") for name in others], axis=0) - mean("default", "accuracy")
    near, far = (behind <= 0.01).mean(), 100 * behind.max()
    print(f"  within a point of the best of the others on {near:.0%} of the tables, at worst {far:.1f} points behind")
    total = mean("default", "seconds").sum() / mean("boosted trees, cleaned", "seconds").sum()
    print(f"  the default takes {total:.1f} times as long as boosted trees, cleaned, over all tables")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default=".", help="folder with tables.py")
    parser.add_argument("--tables", help="names, separated by commas; all by default")
    parser.add_argument("--kinds", default="clean,sym20,way30")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rows", type=int, default=2000, help="training rows of a table, at most")
    parser.add_argument("--results", type=Path, required=True)
    asked = parser.parse_args()
    sys.path.insert(0, asked.data)
    tables = importlib.import_module("tables")
    asked.results.touch()
    results = [json.loads(line) for line in asked.results.read_text().splitlines()]
    done = {(each["table"], each["kind"], each["seed"]) for each in results}
    kinds = asked.kinds.split(",")
    for seed in range(asked.seeds):
        for name in asked.tables.split(",") if asked.tables else tables.SETS:
            X, true = tables.load(name)
            true = np.asarray(true)
            for kind in kinds:
                if (name, kind, seed) in done:
                    continue
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    rows = cell(X, true, tables.with_wrong_labels(true, kind, seed), asked.rows, seed)
                results.append({"table": name, "kind": kind, "seed": seed, "rows": rows})
                with asked.results.open("a") as file:
                    file.write(json.dumps(results[-1]) + "\n")
                print(name, kind, seed, {who: round(row["accuracy"], 3) for who, row in rows.items()}, flush=True)
    for kind in kinds:
        show(results, kind)


if __name__ == "__main__":
    main()
