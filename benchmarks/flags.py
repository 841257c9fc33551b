"""Label issues from predictions, beside cleanlab: python benchmarks/flags.py --noise FOLDER [--data FOLDER]

``find_label_issues`` and cleanlab (extra ``bench``) get the same predictions of five ordinary classifiers
(``predictions.py``). Prints the F1 score of the flags and the average precision of the ranking, and in how many cases
each is at least that of cleanlab.
"""

import argparse
import warnings
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score

from predictions import cases
from reweigh import find_label_issues

EQUAL = 0.003  # differences below this are none


def f1(flagged: NDArray[np.bool_], wrong: NDArray[np.bool_]) -> float:
    """F1 score of the flags."""
    return 2 * float((flagged & wrong).sum()) / max(int(flagged.sum() + wrong.sum()), 1)


def main() -> None:
    """Run, and say what came out."""
    from cleanlab.filter import find_label_issues as by_cleanlab  # pyright: ignore[reportMissingImports]
    from cleanlab.rank import get_label_quality_scores  # pyright: ignore[reportMissingImports]

    parser = argparse.ArgumentParser(description="Label issues from predictions, beside cleanlab.")
    parser.add_argument("--noise", type=Path, required=True, help="folder with the label files")
    parser.add_argument("--data", type=Path, default=Path("data"), help="folder with features.npz of CIFAR-10")
    parser.add_argument("--kept", type=Path, default=Path("data/predictions"), help="folder that keeps predictions")
    given = parser.parse_args()
    warnings.filterwarnings("ignore")
    print(f"{'':40}{'wrong':>7}{'flagged':>9}{'cleanlab':>10}{'F1':>8}{'cleanlab':>10}{'AP':>8}{'cleanlab':>10}")
    differences = []
    for name, case in cases(given.data, given.noise, given.kept):
        ours = find_label_issues(case.given, case.predictions, ranked=False)
        flags = np.asarray(ours["is_label_issue"])
        theirs = np.asarray(by_cleanlab(case.given, case.predictions, n_jobs=1))
        quality = get_label_quality_scores(case.given, case.predictions)
        scores = [f1(flags, case.wrong), f1(theirs, case.wrong)]
        ranks = [float(average_precision_score(case.wrong, -each)) for each in (ours["label_quality"], quality)]
        print(f"{name:40}{case.wrong.mean():7.3f}{flags.mean():9.3f}{theirs.mean():10.3f}", end="")
        print(f"{scores[0]:8.3f}{scores[1]:10.3f}{ranks[0]:8.3f}{ranks[1]:10.3f}", flush=True)
        differences.append((scores[0] - scores[1], ranks[0] - ranks[1]))
    for name, column in zip(("F1", "AP"), np.array(differences).T, strict=True):
        ahead = int((column >= -EQUAL).sum())
        print(f"{name}: ahead or equal in {ahead} of {len(column)}, {column.mean():+.4f} on average")


if __name__ == "__main__":
    main()
