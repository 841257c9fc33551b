"""Finding wrong labels, beside cleanlab: python benchmarks/label_issues.py --data FOLDER

FOLDER holds fashion-mnist (``reweigh data get fashion-mnist --root FOLDER``); cleanlab comes with the extra ``bench``.
The data are the 20,000 images of the recipe ``fashion-mnist``, and a wide table on which a net memorizes at once: the
digits of scikit-learn as texts of 64 words, one for each place and gray level, weighted by TF-IDF.

Each tool has the same network, optimizer and schedule. ``reweigh`` is one fit of ``RobustClassifier``. cleanlab ranks
by its default score on out-of-sample probabilities from five-fold cross-validation of the same estimator, trained
plainly (``method="erm"``): with as many epochs (``cleanlab``), and with the number, of a few, that suits it best by the
truth (``cleanlab-best``). Prints a table and which bars are reached; the exit code is 1 if one is missed.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.optim.optimizer import register_optimizer_step_post_hook

from reweigh import RobustClassifier
from reweigh.compare.grid import plan
from reweigh.files import write_whole
from reweigh.fit.source import read_training_set
from reweigh.memory import keep_freed_memory
from reweigh.models import MODELS

IMAGES = ["symmetric-0.2", "symmetric-0.4", "asymmetric-0.4", "feature-dependent-0.35"]
WIDE = ["wide-symmetric-0.2", "wide-asymmetric-0.4"]
EPOCHS, BATCH, FOLDS, SEED = 30, 128, 5, 0
FEW = (3, 5, 10)


class Case(NamedTuple):
    """Samples, their given labels and the true ones; ``model`` makes the network."""

    inputs: Any
    given: NDArray[np.int64]
    true: NDArray[np.int64]
    model: Callable[..., nn.Module]


class Found(NamedTuple):
    """What a tool says: how bad each label is, which label it suggests, and what it cost."""

    badness: NDArray[np.float64]
    suggested: NDArray[np.int64]
    training_steps: int


def perceptron(shape: tuple[int, ...], num_classes: int) -> nn.Module:
    """The network of all tools."""
    return MODELS["mlp"](shape, num_classes, hidden=(256, 256))


def case(bias: str, data: Path) -> Case:
    """The data of a benchmark by the name of its bias."""
    recipe, short = ("demo", bias.removeprefix("wide-")) if bias in WIDE else ("fashion-mnist", bias)
    overrides = ["data.test_fraction=0.01"] if bias in WIDE else [f"data.root={data.resolve()}"]
    (planned,) = plan(recipe, overrides, ["erm"], [short], 1).values()
    train, _ = read_training_set(planned.source, SEED)
    assert train.true_labels is not None
    inputs: Any = train.inputs[torch.arange(len(train))].numpy()
    if bias in WIDE:
        inputs = as_texts(inputs)
    return Case(inputs, train.labels.numpy(), train.true_labels.numpy(), perceptron)


def as_texts(images: NDArray[np.uint8]) -> Any:
    """Images as sparse rows of TF-IDF: a word for each place and gray level."""
    from sklearn.feature_extraction.text import TfidfTransformer
    from sklearn.preprocessing import OneHotEncoder

    words: Any = OneHotEncoder().fit_transform(images.reshape(len(images), -1))
    return TfidfTransformer().fit_transform(words).astype(np.float32)


def estimator(of: Case, method: str, epochs: int) -> RobustClassifier:
    """The same for both tools, but for the method."""
    scoring = "in-training" if method == "erm" else "auto"  # cleanlab scores by itself
    return RobustClassifier(method, model=of.model, epochs=epochs, batch_size=BATCH, random_state=SEED, scoring=scoring)


@contextmanager
def counted() -> Iterator[Counter[str]]:
    """The steps of every optimizer, by its class; networks are trained with AdamW."""
    steps: Counter[str] = Counter()
    handle = register_optimizer_step_post_hook(lambda optimizer, *_: steps.update([type(optimizer).__name__]))
    try:
        yield steps
    finally:
        handle.remove()


def by_reweigh(of: Case) -> Found:
    """One fit; where a net memorizes at once, it trains held-out models besides."""
    with counted() as steps:
        fitted = estimator(of, "cmw-net-sl", EPOCHS).fit(of.inputs, of.given)
    issues = fitted.label_issues_.sort_index()
    suggested = issues["suggested_label"].to_numpy().astype(np.int64)
    return Found(-issues["label_quality"].to_numpy(), suggested, steps["AdamW"])


def by_cleanlab(of: Case, epochs: int) -> Found:
    """Cross-validation of the plain estimator, then cleanlab's default ranking."""
    from cleanlab.rank import get_label_quality_scores  # pyright: ignore[reportMissingImports]
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=SEED)
    plain = estimator(of, "erm", epochs)
    with counted() as steps:
        probabilities: Any = cross_val_predict(plain, of.inputs, of.given, cv=folds, method="predict_proba")
    quality = get_label_quality_scores(of.given, probabilities)
    return Found(-np.asarray(quality), probabilities.argmax(1), steps["AdamW"])


def row(bias: str, tool: str, epochs: int, of: Case, found: Found) -> dict[str, Any]:
    """How well the wrong labels were found."""
    from sklearn.metrics import average_precision_score

    wrong = of.given != of.true
    worst = np.argsort(-found.badness, kind="stable")[: int(wrong.sum())]
    return {
        "bias": bias,
        "tool": tool,
        "epochs": epochs,
        "wrong": float(wrong.mean()),
        "average_precision": float(average_precision_score(wrong, found.badness)),
        "precision_at_errors": float(wrong[worst].mean()),
        "suggested_accuracy": float((found.suggested == of.true)[wrong].mean()),
        "training_steps": found.training_steps,
    }


def compare(bias: str, data: Path) -> list[dict[str, Any]]:
    """Both tools on one bias."""
    of = case(bias, data)
    rows = [row(bias, "reweigh", EPOCHS, of, by_reweigh(of))]
    rows.append(row(bias, "cleanlab", EPOCHS, of, by_cleanlab(of, EPOCHS)))
    few = [row(bias, "cleanlab-best", epochs, of, by_cleanlab(of, epochs)) for epochs in FEW]
    return [*rows, max(few, key=lambda line: line["average_precision"])]


def bars(rows: list[dict[str, Any]]) -> list[tuple[str, bool]]:
    """What should hold of the rows of one bias, and whether it does."""
    bias = rows[0]["bias"]
    ours, same, best = (line["average_precision"] for line in rows)
    if bias in WIDE:
        return [("at or above cleanlab", ours >= same), ("at or above cleanlab at its best", ours >= best)]
    cheap = rows[0]["training_steps"] <= rows[1]["training_steps"] / 3
    found = [("above cleanlab with as many epochs", ours > same), ("at a third of its training cost", cheap)]
    if bias.startswith("symmetric"):
        found.append(("within 0.01 of cleanlab at its best", ours >= best - 0.01))
    if bias.startswith("asymmetric"):
        found.append(("0.25 above cleanlab at its best", ours >= best + 0.25))
    return found


def main() -> int:
    """Run, and say what came out."""
    parser = argparse.ArgumentParser(description="Finding wrong labels, beside cleanlab.")
    parser.add_argument("--data", type=Path, required=True, help="folder that holds fashion-mnist")
    parser.add_argument("--biases", default=",".join([*IMAGES, *WIDE]), help="with commas between")
    parser.add_argument("--json", type=Path, help="write the rows there")
    given = parser.parse_args()
    keep_freed_memory()
    torch.set_num_threads(1)
    rows, missed = [], 0
    print(f"{'':26}{'':15}{'epochs':>8}{'wrong':>8}{'AP':>8}{'P@errors':>10}{'suggested':>11}{'steps':>8}")
    for bias in given.biases.split(","):
        found = compare(bias, given.data)
        rows += found
        for line in found:
            numbers = f"{line['epochs']:8}{line['wrong']:8.3f}{line['average_precision']:8.3f}"
            numbers += (
                f"{line['precision_at_errors']:10.3f}{line['suggested_accuracy']:11.3f}{line['training_steps']:8}"
            )
            print(f"{bias:26}{line['tool']:15}{numbers}", flush=True)
        for words, held in bars(found):
            missed += not held
            print(f"{bias:26}{words}: {'ok' if held else 'MISSED'}", flush=True)
        if given.json:
            write_whole(given.json, json.dumps({"rows": rows}, indent=2) + "\n")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
