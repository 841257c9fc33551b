"""Methods by cells of biased data: python benchmarks/matrix.py --data FOLDER --noise FOLDER

``cells.py`` says which cells there are and what the folders hold. A method is trained by the plan that is chosen for
the data; "erm:prior" adds prior correction, "two-looks:mixup=0" changes an option of the method, and
"cmw-net:meta_set.batch_size=32" one of another section. If the plan has a judge, its method counts twice: by the last
epoch, and by what the judge kept. ``logistic`` is a strongly regularized logistic regression, with label quality by
cleanlab (extra ``bench``) from its out-of-fold predictions; ``true`` is the default, trained on the true labels.

Prints, with methods as rows and cells as columns, accuracy on true labels (balanced for long tails), the average
precision of the ranking of wrong labels; then F1 of the flagged labels against the best threshold of the same ranking,
and the estimated share of wrong labels. Says where the default falls short; the exit code is then 1. Results are
appended to a file (``--out``), so several calls, also at the same time, add up.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, average_precision_score, balanced_accuracy_score, f1_score
from sklearn.model_selection import cross_val_predict

from cells import CELLS, cell, is_tail
from reweigh.data import Dataset
from reweigh.fit import fit
from reweigh.plan.check import examine
from reweigh.plan.choose import Facts, chosen
from reweigh.plan.edit import put

METHODS = "two-looks,erm,erm:prior,elr,elr:prior,gce:prior,cmw-net,cmw-net:prior,cmw-net-sl,logistic,true"
DEFAULT = "two-looks"
POINTS, PRECISION, F1, SHARE = 0.5, 0.01, 0.9, 0.2  # how far the default may fall short
IMAGE_EPOCHS = 20  # of networks that learn from pixels
REGULARIZED = 10.0  # C of logistic regression times the samples: so little that wrong labels are hardly memorized

Row = dict[str, Any]


def measure(name: str, method: str, seed: int, data: Path, noise: Path, issues: bool = True) -> Row:
    """Train one method on one cell; without ``issues`` no label is judged, which is far cheaper for most methods."""
    train, test = cell(name, seed, data, noise)
    assert train.true_labels is not None
    wrong = (train.labels != train.true_labels).numpy()
    begun = time.process_time()
    if method == "logistic":
        result = logistic(train, test, wrong, is_tail(name))
    else:
        true = train.with_labels(train.true_labels) if method == "true" else train
        method_of = DEFAULT if method == "true" else method
        result = trained(true, test, method_of, seed, wrong if issues else None, is_tail(name))
    row = {"cell": name, "method": method, "seed": seed, "wrong": float(wrong.mean()), **result}
    return row | {"seconds": time.process_time() - begun}


def trained(train: Dataset, test: Dataset, method: str, seed: int, wrong: NDArray | None, tail: bool) -> Row:
    """A method of ours; ``last`` is there if a judge had a choice."""
    method, *changes = method.split(":")
    given: Row = {"method": {"name": method}, "train": {"seed": seed, "aim": "balanced"}}  # test sets are balanced
    if wrong is None:
        given["train"]["scoring"] = "in-training"
    for change in changes:
        key, _, value = change.partition("=")
        place = key if "." in key else f"method.{key}" if value else f"train.{key}"
        put(given, place.split("."), json.loads(value) if value else True)
    if train.is_images:  # from scratch, for the length of 20 epochs
        given["features"] = {"name": "none"}
        given["train"]["epochs"] = IMAGE_EPOCHS
    plan, mistakes = examine(chosen(Facts.of(train), given), passed=["data"])
    assert plan is not None, mistakes
    found = fit(train, plan, test_set=test)
    assert found.tested is not None
    result: Row = {"accuracy": right(test, found.tested.logits.argmax(1).numpy(), tail)}
    tested = [100 * line["test_balanced_accuracy" if tail else "test_accuracy"] for line in found.history]
    result |= {"best_epoch": max(tested)} | ({"last": tested[-1]} if plan.train["judge"] else {})
    if wrong is not None and wrong.any():
        result |= ranked(wrong, found.samples.quality.numpy(), found.samples.wrong.numpy())
    if found.finding is not None:
        sizes = np.array(found.class_sizes)
        low, share, high = (
            float(np.dot(shares, sizes) / sizes.sum())
            for shares in (found.finding.low, found.finding.share, found.finding.high)
        )
        result |= {"estimated": share, "at_least": low, "at_most": high}
    return result


def logistic(train: Dataset, test: Dataset, wrong: NDArray, tail: bool) -> Row:
    """Logistic regression on standardized features, and cleanlab on its out-of-fold predictions."""
    from cleanlab.rank import get_label_quality_scores

    every, model = inputs_of(train), LogisticRegression(C=REGULARIZED / len(train), max_iter=300)
    model.fit(every, train.labels.numpy())
    result = {"accuracy": right(test, np.asarray(model.predict(inputs_of(test))), tail)}
    if wrong.any():
        labels = train.labels.numpy()
        rows = np.asarray(cross_val_predict(model, every, labels, method="predict_proba"))
        scores = [
            get_label_quality_scores(labels, rows, method=how) for how in ("self_confidence", "normalized_margin")
        ]
        result |= max((ranked(wrong, score) for score in scores), key=lambda found: found["ap"])
    return result


def inputs_of(dataset: Dataset) -> NDArray:
    """All samples, normalized, as rows."""
    return dataset.batch(torch.arange(len(dataset))).inputs.flatten(1).numpy()


def right(test: Dataset, predicted: NDArray, tail: bool) -> float:
    """Accuracy in percent."""
    return 100 * float((balanced_accuracy_score if tail else accuracy_score)(test.labels.numpy(), predicted))


def ranked(wrong: NDArray, quality: NDArray, flagged: NDArray | None = None) -> Row:
    """How well wrong labels come first, and how well they are flagged, as a share of what the best threshold does."""
    result = {"ap": float(average_precision_score(wrong, -quality))}
    if flagged is not None:
        order = wrong[np.argsort(quality, kind="stable")]
        best = float((2 * order.cumsum() / (np.arange(1, len(order) + 1) + wrong.sum())).max())
        result["f1_ratio"] = float(f1_score(wrong, flagged)) / best
    return result


def tables(rows: list[Row]) -> Iterator[str]:
    """Markdown tables: means over seeds."""
    names = [name for name in CELLS if any(row["cell"] == name for row in rows)]
    names += [name for name in dict.fromkeys(row["cell"] for row in rows) if name not in names]
    methods = list(dict.fromkeys(row["method"] for row in rows))

    def mean(name: str, method: str, key: str) -> float | None:
        found = [row[key] for row in rows if (row["cell"], row["method"]) == (name, method) and key in row]
        return float(np.mean(found)) if found else None

    def table(title: str, shown: Callable[[str, str], str], keep: list[str]) -> Iterator[str]:
        yield f"\n{title}\n\n| | " + " | ".join(names) + " |\n|---" * 1 + "|" + "---|" * len(names)
        for method in keep:
            yield f"| {method} | " + " | ".join(shown(name, method) for name in names) + " |"

    def accuracy(name: str, method: str) -> str:
        last, kept = mean(name, method, "last"), mean(name, method, "accuracy")
        return "" if kept is None else f"{kept:.1f}" if last is None else f"{last:.1f} / {kept:.1f}"

    def number(key: str) -> Callable[[str, str], str]:
        return lambda name, method: "" if (found := mean(name, method, key)) is None else f"{found:.3f}"

    yield from table("Accuracy: last epoch / kept by the judge", accuracy, methods)
    yield from table("Average precision", number("ap"), methods)
    yield from table("F1 over the best F1", number("f1_ratio"), [DEFAULT])
    yield from table("Share of wrong labels, estimated", number("estimated"), [DEFAULT])
    yield from table("and true", number("wrong"), [DEFAULT])
    yield from table("Process seconds", number("seconds"), methods)
    means = {}
    for method in methods:
        found = [value for name in names if (value := mean(name, method, "accuracy")) is not None]
        if len(found) == len(names):
            means[method] = float(np.mean(found))
    yield "\nMean over all cells: " + ", ".join(f"{method} {found:.2f}" for method, found in means.items())


def shortfalls(rows: list[Row]) -> Iterator[str]:
    """Where the default is behind a rival, or its estimates are off."""
    for name in dict.fromkeys(row["cell"] for row in rows):
        means: dict[str, dict[str, float]] = {}
        for method in dict.fromkeys(row["method"] for row in rows if row["cell"] == name):
            if method == "true" or method.startswith(f"{DEFAULT}:"):
                continue
            its = [row for row in rows if (row["cell"], row["method"]) == (name, method)]
            means[method] = {
                key: float(np.mean([row[key] for row in its])) for key in its[0].keys() - {"cell", "method"}
            }
        own = means.pop(DEFAULT, None)
        if own is None or not means:
            continue
        rivals = {m: max(found["accuracy"], found.get("last", 0.0)) for m, found in means.items()}
        best = max(rivals, key=lambda method: rivals[method])
        if own["accuracy"] < rivals[best] - POINTS:
            yield f"{name}: accuracy {own['accuracy']:.1f}; {best} has {rivals[best]:.1f}"
        if "ap" not in own:
            continue
        best = max(means, key=lambda method: means[method].get("ap", 0.0))
        if own["ap"] < means[best]["ap"] - PRECISION:
            yield f"{name}: average precision {own['ap']:.3f}; {best} has {means[best]['ap']:.3f}"
        if own["f1_ratio"] < F1:
            yield f"{name}: F1 is {own['f1_ratio']:.2f} of the best on the same ranking"
        if own["wrong"] > 0.05 and abs(own["estimated"] / own["wrong"] - 1) > SHARE:
            yield f"{name}: {own['estimated']:.3f} of the labels estimated to be wrong, {own['wrong']:.3f} are"


def main() -> int:
    """Run what is missing, print the tables; 1 if the default falls short anywhere."""
    parser = arguments(__doc__, "matrix.jsonl", ",".join(CELLS))
    parser.add_argument("--methods", default=METHODS)
    parser.add_argument("--accuracy-only", action="store_true", help="do not judge labels: far cheaper")
    options = parser.parse_args()
    for seed in map(int, options.seeds.split(",")):
        for name in options.cells.split(","):
            for method in options.methods.split(","):
                if (name, method, seed) not in {(row["cell"], row["method"], row["seed"]) for row in read(options.out)}:
                    issues = not options.accuracy_only
                    append(options.out, measure(name, method, seed, options.data, options.noise, issues))
    rows = read(options.out)
    print("\n".join(tables(rows)))
    short = list(shortfalls(rows))
    print("\n" + "\n".join(["Falls short:", *short] if short else ["The default falls short nowhere."]))
    return 1 if short else 0


def arguments(about: str | None, out: str, cells: str) -> argparse.ArgumentParser:
    """The arguments that every benchmark over cells takes."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--noise", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=Path(out))
    parser.add_argument("--cells", default=cells)
    parser.add_argument("--seeds", default="0")
    return parser


def append(file: Path, row: Row) -> None:
    """Add a result, at once, so that an interrupted call loses nothing."""
    with open(file, "a") as opened:
        opened.write(json.dumps(row) + "\n")


def read(file: Path) -> list[Row]:
    """The results so far."""
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


if __name__ == "__main__":
    sys.exit(main())
