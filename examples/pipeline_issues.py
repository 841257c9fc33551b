"""A scikit-learn pipeline of your own, and the labels that its out-of-fold predictions doubt.

python examples/pipeline_issues.py
"""

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from reweigh import RobustClassifier, find_label_issues

KINDS = np.array(["ash", "elm", "oak"])


def main() -> float:
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 3, 600)
    table = pd.DataFrame(
        {
            "height": 8 + 3 * kind + rng.normal(0, 1.2, 600),
            "girth": 1 + 0.5 * (kind == 2) + rng.normal(0, 0.2, 600),
            "bark": np.array(["smooth", "ridged", "ridged"])[kind],
        }
    )
    given = np.where(rng.random(600) < 0.15, rng.permutation(KINDS[kind]), KINDS[kind])

    # 1. Any classifier: its cross-validated probabilities say which labels to doubt. Nothing else is trained.
    columns = make_column_transformer((StandardScaler(), ["height", "girth"]), (OneHotEncoder(), ["bark"]))
    trees = make_pipeline(columns, HistGradientBoostingClassifier(max_iter=30, random_state=0))
    classes, numbers = np.unique(given, return_inverse=True)
    issues = find_label_issues(numbers, cross_val_predict(trees, table, numbers, method="predict_proba"))
    listed = issues.index[issues["is_label_issue"]]
    wrong = given != KINDS[kind]
    print(f"trees: {len(listed)} labels listed, {wrong[listed].mean():.0%} of them wrong, {wrong.sum()} wrong in all")
    print(issues.head().assign(suggested=classes[issues.head()["suggested_label"]]))

    # 2. The same columns in front of a classifier that wrong labels do not spoil, judged out of fold as well.
    robust = make_pipeline(columns, RobustClassifier("cmw-net", scoring="out-of-fold", epochs=8, random_state=0))
    found = robust.fit(table, given)[-1].is_label_issue_
    print(f"robust: {found.sum()} labels listed, {wrong[found].mean():.0%} of them wrong")
    return float(wrong[listed].mean())


if __name__ == "__main__":
    main()
