"""Audits by simulation: python benchmarks/audit.py --noise FOLDER [--data FOLDER] [--audits 1000]

Qualities come from ``find_label_issues`` on predictions of ordinary classifiers (``predictions.py``), answers from the
true labels. Prints how many of the 90 % intervals hold the true share of wrong labels, precision and recall, the mean
of the estimates over the truth, and the width of the interval beside that of simple random sampling; and for the share
of wrong labels, the lowest and highest coverage of a case, and how many are outside 88 to 92 % (of exact intervals, 3 %
would be, by chance).
"""

import argparse
from pathlib import Path

import numpy as np

from predictions import cases
from reweigh import find_label_issues
from reweigh.issues import audit

SIZES = (50, 100, 200)
MIN_HELD, MAX_HELD = 0.88, 0.92  # share of the intervals that should hold the truth


def main() -> None:
    """Run, and say what came out."""
    parser = argparse.ArgumentParser(description="Audits by simulation.")
    parser.add_argument("--noise", type=Path, required=True, help="folder with the label files")
    parser.add_argument("--data", type=Path, default=Path("data"), help="folder with features.npz of CIFAR-10")
    parser.add_argument("--kept", type=Path, default=Path("data/predictions"), help="folder that keeps predictions")
    parser.add_argument("--audits", type=int, default=1000)
    parser.add_argument("--classifiers", default="logreg", help="with commas between")
    given = parser.parse_args()
    print(f"{'':40}{'n':>5}{'wrong':>7}{'held':>7}{'mean':>7}{'width':>7}{'precision':>11}{'recall':>8}")
    rows = []
    for name, case in cases(given.data, given.noise, given.kept, given.classifiers.split(",")):
        issues = find_label_issues(case.given, case.predictions, ranked=False)
        quality, flagged, wrong = np.asarray(issues["label_quality"]), np.asarray(issues["is_label_issue"]), case.wrong
        truth = (wrong.mean(), wrong[flagged].mean(), wrong[flagged].sum() / wrong.sum())
        for n in SIZES:
            held, shares, widths = [], [], []
            for seed in range(given.audits):
                audit.AUDIT_SEED = seed
                drawn = audit.Audit(quality, flagged, np.zeros(len(quality), int))
                found = drawn.estimate(wrong[drawn.order[:n]])
                pairs = zip((found.wrong, found.precision, found.recall), truth, strict=True)
                held.append([each is None or each.low - 1e-9 <= true <= each.high + 1e-9 for each, true in pairs])
                shares.append(found.wrong.share)
                widths.append(found.wrong.high - found.wrong.low)
            simple = 2 * audit.Z90 * np.sqrt(truth[0] * (1 - truth[0]) / n * (1 - n / len(wrong)))
            share, precision, recall = np.mean(held, 0)
            rows.append([n, truth[0], share, np.mean(shares) / truth[0], np.mean(widths) / simple, precision, recall])
            print(f"{name:40}" + "{:5.0f}{:7.3f}{:7.3f}{:7.3f}{:7.2f}{:11.3f}{:8.3f}".format(*rows[-1]), flush=True)
    for n in SIZES:
        its = np.array([row for row in rows if row[0] == n])
        outside = int(((its[:, 2] < MIN_HELD) | (its[:, 2] > MAX_HELD)).sum())
        print(f"n = {n}: {its[:, 2].min():.3f} to {its[:, 2].max():.3f}, {outside} of {len(its)} cases outside")
        mean = its.mean(0)
        print(f"{'mean':40}" + "{:5.0f}{:7.3f}{:7.3f}{:7.3f}{:7.2f}{:11.3f}{:8.3f}".format(*mean), flush=True)


if __name__ == "__main__":
    main()
