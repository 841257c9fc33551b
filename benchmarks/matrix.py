"""Cells of biased data by methods: python benchmarks/matrix.py --data FOLDER --noise FOLDER

The data folder holds features.npz (x_train, y_train, x_test, y_test: pretrained features of CIFAR-10 images) and
fashion-mnist in its official form; the noise folder holds label files (cifar10n-random1.npy, ...). A cell is
"source:bias". Sources: c (features) and f (20,000 images of Fashion-MNIST as rows). Biases: clean; aggregate, random1,
fd1, fd2 (label files, for c); sym40; asym40; tails such as lt50 or lt50sym30, which are measured by balanced accuracy.

Each method trains by the plan that is chosen for the data. Prints accuracy on true labels (of what was kept, and of the
last epoch), average precision and F1 of the label issues, and the estimated share of wrong labels; then the cells where
the default falls short. Results are appended to a file (``--out``), so an interrupted call goes on where it was.
"""

import argparse
import json
import re
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.metrics import accuracy_score, average_precision_score, balanced_accuracy_score, f1_score

from reweigh.bias import BIASES
from reweigh.data import Dataset, from_arrays
from reweigh.data.readers.idx import find_idx_pair, read_idx
from reweigh.fit import fit
from reweigh.plan.check import examine
from reweigh.plan.choose import Facts, chosen

CELLS = "c:clean,c:random1,c:fd1,c:sym40,c:asym40,c:lt50sym30"
METHODS = "two-looks,erm,elr,cmw-net"
DEFAULT, POINTS = "two-looks", 0.5  # how far the default may be below the best rival
FILES = {
    "aggregate": "cifar10n-aggregate",
    "random1": "cifar10n-random1",
    "fd1": "cifar10-feature-dependent-1-35",
    "fd2": "cifar10-feature-dependent-2-35",
}
FLIPS = {"c": {9: 1, 2: 0, 4: 7, 3: 5}, "f": {0: 6, 2: 4, 5: 7, 9: 7}}  # one way, as is usual for these data


def source(name: str, data: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Training inputs and labels, test inputs and labels."""
    if name == "c":
        found = np.load(data / "features.npz")
        return found["x_train"], found["y_train"], found["x_test"], found["y_test"]
    parts = []
    for split, most in (("train", 20_000), ("test", None)):
        pair = find_idx_pair(data / "fashion-mnist", split)
        assert pair, f"{data / 'fashion-mnist'}: no {split} part"
        images, labels = (read_idx(file).numpy()[:most] for file in pair)
        parts += [images.reshape(len(images), -1).astype(np.float32) / 255, labels.astype(np.int64)]
    return parts[0], parts[1], parts[2], parts[3]


def cell(name: str, seed: int, data: Path, noise: Path) -> tuple[Dataset, Dataset]:
    """Training set with wrong labels (and the true ones), and test set with true labels."""
    kind, _, bias = name.partition(":")
    inputs, true, test_inputs, test = source(kind, data)
    kept, given = torch.arange(len(true)), torch.from_numpy(true)
    if bias in FILES:
        given = torch.from_numpy(np.load(noise / f"{FILES[bias]}.npy").astype(np.int64)[: len(true)])
    elif bias != "clean":
        found = re.fullmatch(r"(?:lt(\d+))?(?:(a?sym)(\d+))?", bias)
        assert found, f"{name}: not a bias"
        tail, flips, rate = found.groups()
        if tail:
            kept = BIASES["long-tail"](given, 10, seed, imbalance_factor=float(tail)).index
            given = given[kept]
        if flips == "sym":
            given = BIASES["symmetric"](given, 10, seed, rate=int(rate) / 100).labels
        elif flips == "asym":
            given = BIASES["asymmetric"](given, 10, seed, rate=int(rate) / 100, map=FLIPS[kind]).labels
    names = [str(number) for number in range(10)]
    train = from_arrays(inputs[kept], given, class_names=names, true_labels=torch.from_numpy(true)[kept])
    return train, from_arrays(test_inputs, test, class_names=names, normalize=train.normalize)


def measure(name: str, method: str, seed: int, data: Path, noise: Path) -> dict[str, Any]:
    """Train one method on one cell."""
    train, test = cell(name, seed, data, noise)
    given = {"method": {"name": method}, "train": {"seed": seed}}
    plan, mistakes = examine(chosen(Facts.of(train), given), passed=["data"])
    assert plan is not None, mistakes
    begun = time.process_time()
    found = fit(train, plan, test_set=test)
    seconds = time.process_time() - begun
    assert found.tested is not None
    assert train.true_labels is not None
    predicted, tail = found.tested.logits.argmax(1), ":lt" in name
    right = (balanced_accuracy_score if tail else accuracy_score)(test.labels, predicted)
    wrong = (train.labels != train.true_labels).numpy()
    result = {"cell": name, "method": method, "seed": seed, "accuracy": 100 * right, "wrong": float(wrong.mean())}
    result |= {"seconds": seconds, "epochs": len(found.history)}
    if not tail:
        result["best_epoch"] = 100 * max(line["test_accuracy"] for line in found.history)
    if wrong.any():
        quality = found.samples.quality.numpy()
        result["ap"] = float(average_precision_score(wrong, -quality))
        result["f1"] = float(f1_score(wrong, found.samples.wrong.numpy()))
        order = wrong[np.argsort(quality, kind="stable")]
        result["f1_best"] = float((2 * order.cumsum() / (np.arange(1, len(order) + 1) + wrong.sum())).max())
    if found.wrong_by_class is not None:
        sizes = np.array(found.class_sizes)
        result["estimated"] = float(np.dot(found.wrong_by_class, sizes) / sizes.sum())
    return result


def table(rows: list[dict[str, Any]]) -> list[str]:
    """One line per cell and method, means over seeds; then what falls short."""
    lines, short = [], []
    for name in dict.fromkeys(row["cell"] for row in rows):
        here = [row for row in rows if row["cell"] == name]
        means: dict[str, dict[str, float]] = {}
        for method in dict.fromkeys(row["method"] for row in here):
            its = [row for row in here if row["method"] == method]
            numbers = its[0].keys() - {"cell", "method", "seed"}
            means[method] = {key: float(np.mean([row[key] for row in its])) for key in numbers}
            shown = "  ".join(f"{key} {value:.3g}" for key, value in sorted(means[method].items()))
            lines.append(f"{name:14} {method:12} {shown}  ({len(its)} seeds)")
        rivals = {method: found["accuracy"] for method, found in means.items() if method != DEFAULT}
        if DEFAULT in means and rivals:
            best = max(rivals, key=lambda method: rivals[method])
            if means[DEFAULT]["accuracy"] < rivals[best] - POINTS:
                short.append(f"falls short: {name}, {means[DEFAULT]['accuracy']:.1f}; {best} has {rivals[best]:.1f}")
    return [*lines, *short]


def main() -> int:
    """Run what is missing, print the table; 1 if a cell falls short."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--noise", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=Path("matrix.jsonl"))
    for option, default in (("--cells", CELLS), ("--methods", METHODS), ("--seeds", "0")):
        parser.add_argument(option, default=default)
    options = parser.parse_args()
    rows = [json.loads(line) for line in options.out.read_text().splitlines()] if options.out.exists() else []
    done = {(row["cell"], row["method"], row["seed"]) for row in rows}
    for seed in map(int, options.seeds.split(",")):
        for name in options.cells.split(","):
            for method in options.methods.split(","):
                if (name, method, seed) not in done:
                    rows.append(measure(name, method, seed, options.data, options.noise))
                    with open(options.out, "a") as file:
                        file.write(json.dumps(rows[-1]) + "\n")
    lines = table(rows)
    print("\n".join(lines))
    return int(any(line.startswith("falls short") for line in lines))


if __name__ == "__main__":
    sys.exit(main())
