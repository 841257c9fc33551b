"""What decisions are worth: python benchmarks/review.py --data FOLDER --noise FOLDER

Trains on a cell of biased data (``cells.py``), shows samples to a reviewer in each order, lets the true labels answer,
and trains again with the answers as trusted labels (``Dataset.trusted``). For each order and number of decisions it
prints the accuracy on true test labels, the share of all wrong labels that the reviewer has found, the share that is
corrected once the suggestions of the new training are applied as well, and how many wrong labels are left, as the
page and the new training (``counted``: share, lower and upper limit) estimate them. Results are appended to a file
(``--out``), and what is in it is not measured again; ``--figure FILE.svg`` draws them.
"""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch

from cells import cell
from matrix import append, read
from reweigh.data import Dataset
from reweigh.fit import Fit, fit
from reweigh.issues.remaining import remaining
from reweigh.plan.check import examine
from reweigh.plan.choose import Facts, chosen
from reweigh.review.session import ORDERS

CELLS = "c:random1,made:sym30"
NAMES = {"c:random1": "CIFAR-10 features, labels by one person each", "made:sym30": "table, 30 % of the labels random"}


def trained(train: Dataset, test: Dataset, seed: int) -> Fit:
    """The default for the data."""
    plan, mistakes = examine(chosen(Facts.of(train), {"train": {"seed": seed}}), passed=["data"])
    assert plan is not None, mistakes
    return fit(train, plan, test_set=test)


def row(found: Fit, train: Dataset, seen: np.ndarray) -> dict[str, Any]:
    """What one training came to, given the samples that were reviewed."""
    assert found.tested is not None
    assert found.tested.labels is not None
    assert train.true_labels is not None
    truth, given = train.true_labels.numpy(), train.labels.numpy()
    wrong = given != truth
    corrected = np.where(found.samples.wrong.numpy(), found.samples.suggested.numpy(), found.samples.given.numpy())
    right = found.tested.logits.argmax(1) == found.tested.labels
    finding, sizes = found.finding, np.bincount(given, minlength=len(train.class_names))
    assert finding is not None
    return {
        "counted": [float(sizes @ np.array(each)) / len(given) for each in (finding.share, finding.low, finding.high)],
        "accuracy": 100 * float(right.double().mean()),
        "found": float(wrong[seen].sum() / wrong.sum()),
        "corrected": float((wrong & (corrected == truth)).sum() / wrong.sum()),
        "wrong_after": float((corrected != truth).mean()),
    }


def measure(
    name: str, seed: int, data: Path, noise: Path, out: Path, orders: Sequence[str], counts: Sequence[int]
) -> None:
    """One cell and seed, every order and number of decisions."""
    done = {(line["order"], line["decisions"]) for line in read(out) if (line["cell"], line["seed"]) == (name, seed)}
    if {("none", 0), *product(orders, counts)} <= done:
        return
    train, test = cell(name, seed, data, noise)
    assert train.true_labels is not None
    truth = train.true_labels.numpy()
    wrong = train.labels.numpy() != truth
    first = trained(train, test, seed)
    quality = np.nan_to_num(first.samples.quality.numpy(), nan=1.0)
    other = first.samples.suggested.numpy()

    def record(order: str, count: int, values: dict[str, Any]) -> None:
        line = {"cell": name, "seed": seed, "order": order, "decisions": count, **values}
        append(out, line)
        print(line, flush=True)

    def left(seen: np.ndarray) -> dict[str, Any]:
        estimate = remaining(1 - quality, seen, wrong[seen])
        return {"left": int(wrong.sum() - wrong[seen].sum()), "estimate": [round(each) for each in estimate]}

    nothing = np.empty(0, int)
    if ("none", 0) not in done:
        record("none", 0, row(first, train, nothing) | left(nothing))
    for order in orders:
        ranking = ORDERS[order](quality, other)
        for count in (each for each in counts if (order, each) not in done):
            seen = ranking[:count]
            labels = train.labels.clone()
            labels[torch.from_numpy(seen)] = train.true_labels[torch.from_numpy(seen)]
            trusted = torch.zeros(len(train), dtype=torch.bool)
            trusted[torch.from_numpy(seen)] = True
            decided = replace(train, labels=labels, trusted=trusted, uncorrected=train.labels)
            found = trained(decided, test, seed)
            record(order, count, row(found, train, seen) | left(seen))


def draw(lines: list[dict[str, Any]], file: Path) -> None:
    """Accuracy, wrong labels found and left by the number of decisions, one line per order, one row per cell."""
    import matplotlib as mpl

    mpl.use("svg")
    from matplotlib import pyplot as plt

    cells = list(dict.fromkeys(line["cell"] for line in lines))
    figure, axes = plt.subplots(len(cells), 3, figsize=(12, 3.1 * len(cells)), squeeze=False, layout="constrained")
    for its, name in zip(axes, cells, strict=True):
        for axis, key, scale, title in (
            (its[0], "accuracy", 1, "test accuracy after retraining, %"),
            (its[1], "found", 100, "% of all wrong labels that the reviewer saw"),
            (its[2], "wrong_after", 100, "% of labels wrong, with suggestions applied"),
        ):
            for order, mark in zip(ORDERS, "os^", strict=True):
                mine = [each for each in lines if each["cell"] == name and each["order"] in (order, "none")]
                counts = sorted({each["decisions"] for each in mine})
                means = [np.mean([scale * each[key] for each in mine if each["decisions"] == n]) for n in counts]
                axis.plot(counts, means, marker=mark, label=order)
            axis.set(xlabel="decisions", title=title)
            axis.spines[["top", "right"]].set_visible(False)
        its[0].set_ylabel(NAMES.get(name, name))
    axes[0, 0].legend(frameon=False)
    figure.savefig(file, metadata={"Date": None})


def main() -> None:
    """Measure, or draw what was measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("data"))
    parser.add_argument("--noise", type=Path, default=Path("data"))
    parser.add_argument("--cells", default=CELLS)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--orders", default=",".join(ORDERS))
    parser.add_argument("--counts", default="50,100,200,500", help="numbers of decisions")
    parser.add_argument("--out", type=Path, default=Path("review.jsonl"))
    parser.add_argument("--figure", type=Path)
    options = parser.parse_args()
    if options.figure:
        draw(read(options.out), options.figure)
        return
    for seed in range(options.seeds):
        for name in options.cells.split(","):
            counts = [int(each) for each in options.counts.split(",")]
            measure(name, seed, options.data, options.noise, options.out, options.orders.split(","), counts)


if __name__ == "__main__":
    main()
