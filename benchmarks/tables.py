"""Tables of all kinds, labels right and wrong: the default beside networks, trees and what people use.

    python benchmarks/tables.py --data FOLDER --seeds 3 --results tables.jsonl

Two thirds of each table train, at most ``--rows``, with labels as ``--kinds`` says; the rest, with true labels, is for
testing. ``--data`` is the folder with tables.py. Every fit is a line of ``--results``; one that is there is not run
again. Times are processor time in one thread, as multiples of "boosted trees, cleaned" on the same table.
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

from probabilities import NUMBERS, as_read, columns, measured
from reweigh import RobustClassifier

SHOWN = ("accuracy", "balanced", "log_loss", "ap", "times")
OTHERS = ("boosted trees, cleaned", "boosted trees", "forest", "logistic regression")


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


def fits(seed: int) -> dict[str, tuple[Callable[[Any, np.ndarray], tuple[Any, np.ndarray | None]], bool]]:
    """What is compared: (features, labels) -> (model, quality of labels); and whether it takes a table as it is."""
    networks = {"method": "two-looks", "method_options": {"beside": "none"}}
    return {
        "default": (ours(seed), True),
        "networks alone": (ours(seed, **networks), True),
        "trees alone": (ours(seed, model="boosted-trees"), True),
        "boosted trees, cleaned": (cleaned, False),
        "boosted trees": (lambda X, y: (HistGradientBoostingClassifier(random_state=0).fit(X, y), None), False),
        "forest": (lambda X, y: (RandomForestClassifier(200, random_state=0).fit(X, y), None), False),
        "logistic regression": (lambda X, y: (LogisticRegression(max_iter=2000).fit(X, y), None), False),
    }


def cell(
    X: pd.DataFrame, true: np.ndarray, noisy: np.ndarray, rows: int, seed: int, wanted: list[str]
) -> dict[str, dict[str, float]]:
    """The numbers of these methods on one table with one kind of labels."""
    train, test = train_test_split(np.arange(len(true)), test_size=1 / 3, stratify=true, random_state=seed)
    train = train[:rows]
    given, wrong = noisy[train], noisy[train] != true[train]
    own, own_test = (X.iloc[index].reset_index(drop=True) for index in (train, test))
    encode, read = columns(scale=True), as_read(X)
    encoded, encoded_test = encode.fit_transform(read.iloc[train], given), encode.transform(read.iloc[test])
    found = {}
    for name in wanted:
        fit, raw = fits(seed)[name]
        start = time.process_time()
        model, quality = fit(own if raw else encoded, given)
        spent = time.process_time() - start
        chances = model.predict_proba(own_test if raw else encoded_test)
        found[name] = measured(true[test], chances, model.classes_) | {"seconds": spent}
        if quality is not None and wrong.any():
            found[name]["ap"] = float(average_precision_score(wrong, -quality))
    return found


def show(results: Any, kind: str) -> None:
    """Means of one kind of labels, and how often the default is within a point of the best accuracy.

    A cell is a table: its numbers are means over seeds.
    """
    own = results[results["kind"] == kind]
    if own.empty:
        return
    cells = own.groupby(["name", "table"])[[*NUMBERS, "ap", "seconds"]].mean()  # of the seeds
    reference = cells.loc["boosted trees, cleaned", "seconds"]
    print(f"\n{kind}, mean of {own['table'].nunique()} tables, {own.groupby(['table', 'seed']).ngroups} runs")
    for name in own["name"].unique():
        its = cells.loc[name].assign(times=lambda each: each["seconds"] / reference)
        print(f"  {name:24}" + "".join(f"  {key} {its[key].mean():.3f}" for key in SHOWN))
    behind = cells["accuracy"].unstack(0)
    behind = behind[list(OTHERS)].max(axis=1) - behind["default"]
    near, worst = (behind <= 0.01).mean(), behind.idxmax()
    print(f"  within a point of the best of the others on {near:.0%} of the tables,", end=" ")
    print(f"at worst {100 * behind.max():.1f} points behind ({worst})")
    total = cells.loc["default", "seconds"].sum() / reference.sum()
    print(f"  the default takes {total:.1f} times as long as boosted trees, cleaned, over all tables")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default=".", help="folder with tables.py")
    parser.add_argument("--tables", help="names, separated by commas; all by default")
    parser.add_argument("--kinds", default="clean,sym20,way30")
    parser.add_argument("--methods", default="all", help="names, separated by semicolons")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rows", type=int, default=2000, help="training rows of a table, at most")
    parser.add_argument("--results", type=Path, required=True)
    asked = parser.parse_args()
    sys.path.insert(0, asked.data)
    tables = importlib.import_module("tables")
    asked.results.touch()
    results = [json.loads(line) for line in asked.results.read_text().splitlines()]
    done = {(each["table"], each["kind"], each["seed"], each["name"]) for each in results}
    kinds = asked.kinds.split(",")
    methods = list(fits(0)) if asked.methods == "all" else asked.methods.split(";")
    for seed in range(asked.seeds):
        for table in asked.tables.split(",") if asked.tables else tables.SETS:
            X, true = tables.load(table)
            true = np.asarray(true)
            for kind in kinds:
                wanted = [name for name in methods if (table, kind, seed, name) not in done]
                if not wanted:
                    continue
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    found = cell(X, true, tables.with_wrong_labels(true, kind, seed), asked.rows, seed, wanted)
                results += [
                    {"table": table, "kind": kind, "seed": seed, "name": name, **found[name]} for name in wanted
                ]
                with asked.results.open("a") as file:
                    file.writelines(json.dumps(line) + "\n" for line in results[-len(wanted) :])
                print(table, kind, seed, {who: round(row["accuracy"], 3) for who, row in found.items()}, flush=True)
    for kind in kinds:
        show(pd.DataFrame(results), kind)


if __name__ == "__main__":
    main()
