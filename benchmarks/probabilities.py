"""Are probabilities right, and rare classes treated as asked? Real tables, against what people use.

    python benchmarks/probabilities.py --tables pima,yeast --kinds clean,sym20,way30 --seeds 3 --json results.json

Two thirds of each table train, with labels as ``--kinds`` says; one third, with true labels, is for testing.
The default is fitted once and decides for several class shares. Rivals are logistic regression and boosted trees,
calibrated by cross-validation. ``--data`` is the folder with tables.py; the packages that it names must be installed.
"""

import argparse
import importlib
import json
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score, log_loss
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler, TargetEncoder

from reweigh import RobustClassifier

BINS = 15
GAPS = ["?", "<null>", ""]
MOSTLY = 0.95  # share of the cells that are numbers or gaps, above which a column is one of numbers
MANY = 50  # categories, more than which get one column for each class instead of their own
SHARES = ("estimated", "uniform")
NUMBERS = ("accuracy", "balanced", "log_loss", "ece")


def as_read(X: Any) -> Any:
    """The table as pandas reads it if it is told how gaps are written, which whoever uses the rivals would do."""
    given = X.replace(GAPS, np.nan)
    numbers = given.apply(pd.to_numeric, errors="coerce")
    as_numbers = [name for name in X if (numbers[name].notna() | given[name].isna()).mean() > MOSTLY]
    return given.fillna("missing").assign(**numbers[as_numbers])


def columns(scale: bool) -> Any:
    """Numbers with their gaps filled and scaled, or as they are, and categories as columns of zeros and ones.

    Columns of many categories become the share of each class among samples of the category, by cross-fitting.
    """
    numbers = make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler()) if scale else "passthrough"
    words = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    number, word = make_column_selector(dtype_include="number"), make_column_selector(dtype_exclude="number")

    def few(X: Any) -> list[str]:
        return [name for name in word(X) if X[name].nunique() <= MANY]

    def many(X: Any) -> list[str]:
        return [name for name in word(X) if X[name].nunique() > MANY]

    shares: Any = TargetEncoder
    return make_column_transformer((numbers, number), (words, few), (shares(random_state=0), many))


def rivals() -> dict[str, Any]:
    """Logistic regression and calibrated boosted trees, for tables with numbers, categories and gaps."""
    trees = CalibratedClassifierCV(HistGradientBoostingClassifier(random_state=0), cv=5)
    return {
        "logistic regression": make_pipeline(columns(True), LogisticRegression(max_iter=2000)),
        "boosted trees": make_pipeline(columns(False), trees),
    }


def measured(true: np.ndarray, probabilities: np.ndarray, classes: np.ndarray) -> dict[str, float]:
    """Accuracy, balanced accuracy, log loss and expected calibration error of the likeliest class."""
    found = classes[probabilities.argmax(1)]
    sure, right = probabilities.max(1), found == true
    place = np.minimum((sure * BINS).astype(int), BINS - 1)
    ece = sum(abs(sure[place == at].sum() - right[place == at].sum()) for at in range(BINS)) / len(true)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        balanced = balanced_accuracy_score(true, found)
    loss = log_loss(true, probabilities.clip(1e-7), labels=classes)
    return dict(zip(NUMBERS, map(float, (right.mean(), balanced, loss, ece)), strict=True))


def cell(X: pd.DataFrame, true: np.ndarray, noisy: np.ndarray, seed: int) -> dict[str, dict[str, float]]:
    """All numbers of one table with one kind of labels."""
    train, test = train_test_split(np.arange(len(true)), test_size=1 / 3, stratify=true, random_state=seed)
    given = noisy[train]
    train_X, test_X = X.iloc[train].reset_index(drop=True), X.iloc[test].reset_index(drop=True)
    ours = RobustClassifier(random_state=seed).fit(train_X, given)
    rows = {}
    for shares in SHARES:
        ours.set_params(class_shares=shares)
        rows[f"default, {shares}"] = measured(true[test], ours.predict_proba(test_X), ours.classes_)
    decision = ours.decision_
    wrong = float((given != true[train]).mean())
    rows["decision"] = {"temperature": decision.temperature, "wrong": decision.wrong, "truly_wrong": wrong}
    for name, rival in rivals().items():
        rival.fit(train_X, given)
        rows[name] = measured(true[test], rival.predict_proba(test_X), rival.classes_)
    most = np.array([(given == each).mean() for each in ours.classes_])
    rows["most frequent class"] = measured(true[test], np.tile(most, (len(test), 1)), ours.classes_)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default=".", help="folder with tables.py")
    parser.add_argument("--tables", help="names, separated by commas; all by default")
    parser.add_argument("--kinds", default="clean,sym20,way30")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rows", type=int, default=4000, help="tables with more rows are left out")
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    sys.path.insert(0, asked.data)
    tables = importlib.import_module("tables")
    results = []
    for name in asked.tables.split(",") if asked.tables else tables.SETS:
        X, true = tables.load(name)
        X = as_read(X)
        if len(X) > asked.rows:
            continue
        for kind in asked.kinds.split(","):
            for seed in range(asked.seeds):
                noisy = tables.with_wrong_labels(true, kind, seed)
                results.append({"table": name, "kind": kind, "seed": seed, "rows": cell(X, true, noisy, seed)})
                line = {who: round(row["log_loss"], 3) for who, row in results[-1]["rows"].items() if "log_loss" in row}
                print(name, kind, seed, line, flush=True)
                if asked.json:
                    asked.json.write_text(json.dumps(results, indent=1))
    for kind in asked.kinds.split(","):
        own = [row for row in results if row["kind"] == kind]
        print(f"\n{kind}, mean of {len(own)}")
        for who, numbers in own[0]["rows"].items():
            if "log_loss" in numbers:
                means = {number: np.mean([row["rows"][who][number] for row in own]) for number in NUMBERS}
                print(f"  {who:22}" + "".join(f"  {number} {mean:.3f}" for number, mean in means.items()))


if __name__ == "__main__":
    main()
