"""Labels by several labelers, beside rivals: python benchmarks/labelers.py --tables FOLDER --noise FOLDER --data FILE

Majority vote, Dawid-Skene and GLAD (crowd-kit), CROWDLAB (cleanlab, on cross-validated predictions of the default
classifier, fitted to the majority vote) and that classifier itself. ``--tables`` has tables.py, ``--noise`` the labels
and workers of CIFAR-10N, ``--data`` features of its images. One line per case, seed and method: accuracy of the
consensus, accuracy of the model on true labels of other samples, average precision of the method's own wrong consensus
labels, and of wrong majority labels, which are the same for all methods (the fewer errors a consensus has, the lower
its own average precision). The default is shown twice: with the majority as its consensus, and with the labels that it
suggests, whose average precision means little, since its quality is that of the given label. For ``reweigh``, the mean
error of the accuracies of labelers with 50 votes or more, and how often their limits hold.
"""

import argparse
import importlib
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import average_precision_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from reweigh import RobustClassifier, Votes

LABELERS = {
    "mix": ("good", "careless", "biased", "pair", "good"),
    "adversarial": ("good", "good", "careless", "adversarial"),
    "copies": ("good", "careless", "copy", "good", "good"),
    "three": ("careless", "careless", "good"),
}
TABLES = (
    ("segment", "mix", 0.5),
    ("vowel", "three", 1.0),
    ("yeast", "mix", 0.6),
    ("contraceptive", "three", 0.8),
    ("car", "copies", 0.8),
    ("titanic", "copies", 0.7),
    ("wdbc", "adversarial", 0.7),
    ("german", "adversarial", 0.6),
)
CIFAR = ("all", "half", "workers")
MAX_ROWS = 1500


def simulated(true: np.ndarray, kinds: tuple[str, ...], density: float, seed: int) -> np.ndarray:
    """Votes N x M by labelers of these kinds, -1 where one does not vote."""
    random, classes, columns = np.random.default_rng(seed), true.max() + 1, []
    for kind in kinds:
        said, drawn = true.copy(), random.random(len(true))
        other = (true + random.integers(1, classes, len(true))) % classes
        if kind in ("good", "careless", "adversarial"):
            said = np.where(drawn < {"good": 0.1, "careless": 0.4, "adversarial": 0.9}[kind], other, said)
        elif kind == "biased":
            said = np.where(drawn < 0.5, 0, said)
        elif kind == "pair":
            said = np.where((true % 2 == 0) & (drawn < 0.5), (true + 1) % classes, said)
        elif kind == "copy":
            said = np.where(drawn < 0.1, other, columns[-1])
        columns.append(said)
    votes = np.stack(columns, 1)
    return np.where(random.random(votes.shape) < density, votes, -1)


def cases(given: Any, seed: int) -> Any:
    """Name, inputs, true classes and long votes (sample, labeler, label) of each case."""
    random = np.random.default_rng(seed)
    sys.path.insert(0, given.tables)
    tables: Any = importlib.import_module("tables")

    for name, kind, density in TABLES:
        table, labels = tables.load(name)
        true = np.unique(labels, return_inverse=True)[1]
        rows = random.permutation(len(true))[:MAX_ROWS]
        table, true = table.iloc[rows].reset_index(drop=True), true[rows]
        votes = simulated(true, LABELERS[kind], density, seed)
        sample, labeler = np.nonzero(votes >= 0)
        yield f"{name} {kind}", table, true, sample, labeler, votes[sample, labeler]
    if given.data and given.noise:
        data = np.load(given.data)
        rows = random.permutation(len(data["x_train"]))[:MAX_ROWS]
        folder = Path(given.noise)
        said = np.stack([np.load(folder / f"cifar10n-random{each}.npy")[rows] for each in (1, 2, 3)], 1).astype(int)
        who = np.load(folder / "cifar10n-workers.npy")[rows]
        for name in CIFAR:
            kept = said.copy()
            if name == "half":
                for row in np.flatnonzero(random.random(len(rows)) < 0.5):
                    kept[row, random.permutation(3)[: random.integers(1, 3)]] = -1
            sample, column = np.nonzero(kept >= 0)
            labeler = who[sample, column] if name == "workers" else column
            yield (
                f"cifar-10n {name}",
                data["x_train"][rows],
                data["y_train"][rows],
                sample,
                labeler,
                kept[sample, column],
            )


def rivals(
    sample: np.ndarray, labeler: np.ndarray, label: np.ndarray, size: int, classes: int, rows: np.ndarray
) -> Any:
    """The posterior of each sample by each rival."""
    from cleanlab.multiannotator import (  # pyright: ignore[reportMissingImports]
        get_label_quality_multiannotator,
    )
    from crowdkit.aggregation import GLAD, DawidSkene  # pyright: ignore[reportMissingImports]

    long = pd.DataFrame({"task": sample, "worker": labeler, "label": label})
    for name, method in (("dawid-skene", DawidSkene(n_iter=50)), ("glad", GLAD(n_iter=30))):
        found = method.fit(long).probas_.reindex(index=range(size), columns=range(classes)).fillna(0).to_numpy()
        yield name, found.argmax(1), 1 - found.max(1)
    wide = long.pivot(index="task", columns="worker", values="label").reindex(range(size))
    wide = pd.DataFrame(wide.to_numpy(float))
    table = get_label_quality_multiannotator(wide, rows, verbose=False)["label_quality"]
    yield "crowdlab", table["consensus_label"].to_numpy(int), 1 - table["consensus_quality_score"].to_numpy()


def main() -> None:
    """Run, and print a line for each case, seed and method."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", required=True)
    parser.add_argument("--noise")
    parser.add_argument("--data")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    for seed in range(given.seeds):
        for name, inputs, true, sample, labeler, label in cases(given, seed):
            if given.only in name:
                compare(name, seed, inputs, true, sample, labeler, label)


def compare(
    name: str, seed: int, inputs: Any, true: np.ndarray, sample: np.ndarray, labeler: np.ndarray, label: np.ndarray
) -> None:
    """Train on two thirds of the samples, and test on the others."""
    random = np.random.default_rng(seed)
    order = random.permutation(np.unique(sample))
    train, test = np.sort(order[len(order) // 3 :]), order[: len(order) // 3]
    place = np.full(len(true), -1)
    place[train] = np.arange(len(train))
    kept = place[sample] >= 0
    sample, labeler, label = place[sample[kept]], labeler[kept], label[kept]
    frame = inputs if isinstance(inputs, pd.DataFrame) else pd.DataFrame(inputs)
    values = frame.reset_index(drop=True) if isinstance(inputs, pd.DataFrame) else inputs
    take = (
        (lambda rows: values.iloc[rows].reset_index(drop=True)) if values is not inputs else (lambda rows: values[rows])
    )
    fitted, tested, right, size = take(train), take(test), true[train], len(train)
    classes = int(true.max()) + 1
    tally = np.zeros((size, classes))
    np.add.at(tally, (sample, label), 1.0)
    majority = (tally + 1e-3 * random.random(tally.shape)).argmax(1)

    def show(method: str, consensus: np.ndarray, doubt: np.ndarray, model: float = np.nan, more: str = "") -> None:
        wrong = consensus != right
        own = average_precision_score(wrong, doubt) if wrong.any() else 1.0
        common = average_precision_score(majority != right, np.where(consensus == majority, doubt, 2 - doubt))
        line = f"{name:20} {seed} {method:12} consensus {1 - wrong.mean():.4f} ap {own:.3f} of majority {common:.3f}"
        print(f"{line} model {model:.4f} {more}", flush=True)

    show("majority", majority, 1 - tally.max(1) / tally.sum(1))
    begin = time.process_time()
    default = RobustClassifier(random_state=seed).fit(fitted, majority)
    lasted = time.process_time() - begin
    accuracy = float((default.predict(tested) == true[test]).mean())
    show("default", majority, 1 - default.label_quality_, accuracy)
    show("suggested", default.suggested_labels_, 1 - default.label_quality_, accuracy)
    rows = np.full((size, classes), 1e-6)
    folds = StratifiedKFold(3, shuffle=True, random_state=seed)
    predicted = cross_val_predict(
        RobustClassifier(random_state=seed), fitted, majority, cv=folds, method="predict_proba"
    )
    rows[:, np.unique(majority)] += predicted
    for rival, consensus, doubt in rivals(sample, labeler, label, size, classes, rows / rows.sum(1, keepdims=True)):
        show(rival, consensus, doubt)
    votes = Votes.from_long(pd.DataFrame({"sample": sample, "labeler": labeler, "label": label}), size)
    begin = time.process_time()
    ours = RobustClassifier(random_state=seed).fit(fitted, votes)
    cost = (time.process_time() - begin) / lasted
    accuracy = float((ours.predict(tested) == true[test]).mean())
    found: Any = ours.consensus_
    table: Any = ours.labelers_
    hit: Any = pd.Series(label == right[sample]).groupby(labeler).mean()
    table = table.assign(true=hit.to_numpy())[lambda some: some["votes"] >= 50]
    error = (table["accuracy"] - table["true"]).abs().mean()
    held = ((table["low"] <= table["true"]) & (table["true"] <= table["high"])).mean()
    wrong, words = float((found["label"].to_numpy() != right).mean()), float(1 - found["probability"].mean())
    more = f"labelers: error {error:.3f} limits {held:.2f} of {len(table)}; "
    more += f"wrong {wrong:.3f} said {words:.3f}; cost {cost:.2f}"
    show("reweigh", found["label"].to_numpy(), 1 - found["probability"].to_numpy(), accuracy, more)


if __name__ == "__main__":
    main()
