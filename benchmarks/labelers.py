"""Labels by several labelers, beside rivals: python benchmarks/labelers.py OUT.jsonl --tables FOLDER

Majority vote, Dawid-Skene and GLAD (crowd-kit), CROWDLAB (cleanlab, on cross-validated predictions of the default
classifier, fitted to the majority vote) and that classifier itself. ``--tables`` has
tables.py; ``--noise`` has the labels and workers of CIFAR-10N, relations by a language model and headlines in Hausa;
``--data`` has features of CIFAR-10.

One line of OUT for each case, seed and method; a line that is there is not computed again. Columns of the summary:

- consensus: accuracy of the consensus labels of samples with a vote
- model: accuracy on true labels of samples that were not trained on
- ap: average precision of wrong *majority* labels, which are the same for all methods
- left: wrong labels among the surest part of a method's own consensus, averaged over the size of the part (the area
  under the risk-coverage curve; lower is better). The average precision of a method's own wrong labels says little: it
  falls when a consensus has fewer wrong labels.
- error, held: of ``reweigh``, the mean error of the estimated accuracy of labelers with 50 votes or more, and how often
  its limits hold
"""

import argparse
import importlib
import json
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

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
RULES = {  # of a lexicon for Hausa: the class, and words that stand for it
    "diseases": ("Health", "cutar cuta zazzabi zazzabin ebola kanjamau coronavirus covid polio lassa kwalara ciwon"),
    "medicine": ("Health", "lafiya asibiti asibitin likita likitoci magani maganin rigakafi rigakafin allurar jinya"),
    "votes": ("Politics", "zabe zaben zabuka kuri'a inec takara 'yan-takara"),
    "parties": ("Politics", "apc pdp jam'iyya jam'iyyar jam'iyyun siyasa 'yan-siyasa majalisa"),
    "states": ("Nigeria", "kano kaduna borno legas abuja zamfara katsina sokoto bauchi adamawa yobe neja benue filato"),
    "nigeria": ("Nigeria", "najeriya nigeria nijeriya buhari jonathan haram chibok efcc"),
    "africa": ("Africa", "afirka afrika africa au ecowas"),
    "neighbors": ("Africa", "nijar niger ghana kamaru chadi mali kenya somaliya sudan masar libya congo kongo"),
    "america": ("World", "amurka amirka trump obama clinton washington"),
    "powers": ("World", "china rasha iran koriya isra'ila faransa birtaniya siriya turkiyya jamus turai iraqi"),
}
MAX_ROWS = 1500
KNOWN = 100  # true labels beside those of a language model


class Case(NamedTuple):
    """Samples with labels by several labelers: sample, labeler and label of each vote."""

    name: str
    inputs: Any
    true: np.ndarray
    sample: np.ndarray
    labeler: np.ndarray
    label: np.ndarray


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


def cases(given: Any, seed: int) -> Iterator[Case]:
    """All cases of a seed."""
    random = np.random.default_rng(seed)
    sys.path.insert(0, given.tables)
    tables: Any = importlib.import_module("tables")

    def case(name: str, inputs: Any, true: np.ndarray, votes: np.ndarray) -> Case:
        sample, labeler = np.nonzero(votes >= 0)
        return Case(name, inputs, true, sample, labeler, votes[sample, labeler])

    for name, kind, density in TABLES:
        table, labels = tables.load(name)
        true = np.unique(labels, return_inverse=True)[1]
        rows = random.permutation(len(true))[:MAX_ROWS]
        table, true = table.iloc[rows].reset_index(drop=True), true[rows]
        yield case(f"{name} {kind}", table, true, simulated(true, LABELERS[kind], density, seed))
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
            found = case(f"cifar-10n {name}", data["x_train"][rows], data["y_train"][rows], kept)
            if name == "workers":
                found = found._replace(labeler=np.unique(who[found.sample, found.labeler], return_inverse=True)[1])
            yield found
    if given.noise:
        texts: Any = pd.read_csv(Path(given.noise) / "relations-by-llm-train.csv").sample(MAX_ROWS, random_state=seed)
        true, known = texts["true"].to_numpy(), random.permutation(MAX_ROWS)[:KNOWN]
        mine = np.full(MAX_ROWS, -1)
        mine[known] = true[known]
        votes = np.stack([texts["given"].to_numpy(), mine], 1)
        yield case("relations model", texts[["text"]].reset_index(drop=True), true, votes)
        texts = pd.read_csv(Path(given.noise) / "hausa-news-train.csv").sample(MAX_ROWS, random_state=seed)
        names, true = np.unique(texts["true"], return_inverse=True)
        words = texts["text"].str.lower().str.replace(r"[‘’`]", "'", regex=True)
        words = words.str.split(r"[^\w'-]+", regex=True).map(set)
        fires = [words.map(set(rule.split()).intersection).map(bool).to_numpy() for _, rule in RULES.values()]
        codes = [names.tolist().index(name) for name, _ in RULES.values()]
        votes = np.stack([np.where(fired, code, -1) for fired, code in zip(fires, codes, strict=True)], 1)
        yield case("hausa rules", texts[["text"]].reset_index(drop=True), true, votes)


class Split:
    """Two thirds of the samples of a case to train on, with their votes, and the others to test on."""

    def __init__(self, case: Case, seed: int):
        self.case, self.seed, self.classes = case, seed, int(case.true.max()) + 1
        random = np.random.default_rng(seed)
        order = random.permutation(len(case.true))
        self.train, self.test = np.sort(order[len(order) // 3 :]), order[: len(order) // 3]
        place = np.full(len(case.true), -1)
        place[self.train] = np.arange(len(self.train))
        kept = place[case.sample] >= 0
        self.sample, self.labeler, self.label = place[case.sample[kept]], case.labeler[kept], case.label[kept]
        self.right = case.true[self.train]
        self.tally = np.zeros((len(self.train), self.classes))
        np.add.at(self.tally, (self.sample, self.label), 1.0)
        self.voted = self.tally.any(1)
        self.majority = (self.tally + 1e-3 * random.random(self.tally.shape)).argmax(1)
        self.long = pd.DataFrame({"sample": self.sample, "labeler": self.labeler, "label": self.label})

    def inputs(self, rows: np.ndarray) -> Any:
        """Some samples, as the classifier takes them."""
        values = self.case.inputs
        return values.iloc[rows].reset_index(drop=True) if isinstance(values, pd.DataFrame) else values[rows]

    def accuracy(self, classifier: Any) -> float:
        """Share of the test samples that are predicted right."""
        return float((classifier.predict(self.inputs(self.test)) == self.case.true[self.test]).mean())

    def scores(self, consensus: np.ndarray, doubt: np.ndarray, of_majority: np.ndarray | None = None) -> dict[str, Any]:
        """What a consensus is worth, of samples with votes.

        Args:
            consensus: Shape (N,).
            doubt: Shape (N,), doubt about it.
            of_majority: Shape (N,), doubt about the majority label; by default, where the consensus is another one, it
                is above all others.
        """
        doubted = np.where(consensus == self.majority, doubt, 2 - doubt) if of_majority is None else of_majority
        consensus, doubt, doubted = consensus[self.voted], doubt[self.voted], doubted[self.voted]
        right, majority = self.right[self.voted], self.majority[self.voted]
        order = np.argsort(doubt + 1e-9 * np.random.default_rng(self.seed).random(len(doubt)))
        left = np.cumsum(consensus[order] != right[order]) / np.arange(1, len(order) + 1)
        return {
            "consensus": float((consensus == right).mean()),
            "ap": float(average_precision_score(majority != right, doubted)),
            "own": float(average_precision_score(consensus != right, doubt)) if (consensus != right).any() else 1.0,
            "left": float(left.mean()),
        }


def by_default(split: Split) -> Iterator[tuple[str, dict[str, Any]]]:
    """The majority, and the default classifier that learns it."""
    yield "majority", split.scores(split.majority, 1 - split.tally.max(1) / split.tally.sum(1).clip(1))
    rows, begin = np.flatnonzero(split.voted), time.process_time()
    found: Any = RobustClassifier(random_state=split.seed).fit(split.inputs(split.train[rows]), split.majority[rows])
    lasted, doubt = time.process_time() - begin, np.zeros(len(split.train))
    doubt[rows] = 1 - found.label_quality_
    suggested = split.majority.copy()
    suggested[rows] = found.suggested_labels_
    scores = split.scores(split.majority, doubt) | {"model": split.accuracy(found), "seconds": lasted}
    yield "default", scores
    yield "suggested", scores | {"consensus": split.scores(suggested, doubt)["consensus"]}


def by_votes(split: Split) -> Iterator[tuple[str, dict[str, Any]]]:
    """Dawid-Skene and GLAD, which know votes only."""
    from crowdkit.aggregation import GLAD, DawidSkene  # pyright: ignore[reportMissingImports]

    long = split.long.rename(columns={"sample": "task", "labeler": "worker"})
    size, number = range(len(split.train)), np.arange(len(split.train))
    for name, method in (("dawid-skene", DawidSkene(n_iter=50)), ("glad", GLAD(n_iter=30))):
        rows: Any = method.fit(long).probas_
        found = rows.reindex(index=size, columns=range(split.classes)).fillna(0).to_numpy()
        yield name, split.scores(found.argmax(1), 1 - found.max(1), 1 - found[number, split.majority])


def by_crowdlab(split: Split) -> Iterator[tuple[str, dict[str, Any]]]:
    """CROWDLAB, on cross-validated predictions of the default classifier, which serve it better than its networks'."""
    from cleanlab.multiannotator import get_label_quality_multiannotator  # pyright: ignore[reportMissingImports]

    voted = np.flatnonzero(split.voted)
    folds = StratifiedKFold(3, shuffle=True, random_state=split.seed)
    default, labels = RobustClassifier(random_state=split.seed), split.majority[voted]
    rows = cross_val_predict(default, split.inputs(split.train[voted]), labels, cv=folds, method="predict_proba")
    full = np.full((len(voted), split.classes), 1e-6)
    full[:, np.unique(labels)] += rows
    full /= full.sum(1, keepdims=True)
    wide = pd.DataFrame(split.long.pivot(index="sample", columns="labeler", values="label").to_numpy(float))
    results = {}
    for way in ("best_quality", "majority_vote"):
        table = get_label_quality_multiannotator(wide, full, consensus_method=way, verbose=False)["label_quality"]
        label, doubt = split.majority.copy(), np.zeros(len(split.train))
        label[voted], doubt[voted] = table["consensus_label"], 1 - table["consensus_quality_score"]
        results[way] = label, doubt
    label, doubt = results["best_quality"]
    yield "crowdlab", split.scores(label, doubt, results["majority_vote"][1])


def by_reweigh(split: Split) -> Iterator[tuple[str, dict[str, Any]]]:
    """This library."""
    votes, begin = Votes.from_long(split.long, len(split.train)), time.process_time()
    ours: Any = RobustClassifier(random_state=split.seed).fit(split.inputs(split.train), votes)
    lasted, found = time.process_time() - begin, ours.consensus_
    posterior = ours._fit.labelers.posterior.numpy()
    places = {name: place for place, name in enumerate(ours.classes_.tolist())}
    known = np.array([places.get(label, -1) for label in split.majority.tolist()])
    doubted = np.where(known >= 0, 1 - posterior[np.arange(len(known)), known], 1.0)
    hit: Any = pd.Series(split.label == split.right[split.sample]).groupby(split.labeler).mean()
    table = ours.labelers_
    table = table.assign(true=hit.reindex(table.index.astype(int)).to_numpy())[lambda some: some["votes"] >= 50]
    yield (
        "reweigh",
        split.scores(found["label"].to_numpy(), 1 - found["probability"].to_numpy(), doubted)
        | {
            "model": split.accuracy(ours),
            "seconds": lasted,
            "error": float((table["accuracy"] - table["true"]).abs().mean()),
            "held": float(((table["low"] <= table["true"]) & (table["true"] <= table["high"])).mean()),
            "labelers": len(table),
        },
    )


WAYS = {
    ("majority", "default", "suggested"): by_default,
    ("dawid-skene", "glad"): by_votes,
    ("crowdlab",): by_crowdlab,
    ("reweigh",): by_reweigh,
}
SIGN = {"consensus": 1, "model": 1, "ap": 1, "left": -1}


def summary(lines: list[dict[str, Any]]) -> str:
    """Means over seeds, and against each rival the mean lead, in how many cases it is ahead, and the worst case."""
    table: Any = pd.DataFrame(lines)
    shown = [*SIGN, "own", "error", "held"]
    means = table.groupby(["case", "method"], sort=False)[shown].mean()
    text = [means.round(3).to_string(na_rep="")]
    for name, sign in SIGN.items():
        wide = means[name].unstack() * sign
        for rival in wide.columns.drop("reweigh"):
            if len(lead := (wide["reweigh"] - wide[rival]).dropna()):
                ahead = f"mean {lead.mean():+.4f}, ahead in {(lead >= 0).sum()} of {len(lead)}"
                text.append(f"{name:10} against {rival:12} {ahead}, worst {lead.min():+.4f} ({lead.idxmin()})")
    return "\n".join(text)


def main() -> None:
    """Compute the lines that are missing, and print a summary of all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--tables", required=True)
    parser.add_argument("--noise")
    parser.add_argument("--data")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", default="", help="part of the name of a case")
    parser.add_argument("--methods", default="", help="part of the name of a method")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    given.out.touch()
    lines = [json.loads(line) for line in given.out.read_text().splitlines()]
    there = {(line["case"], line["seed"], line["method"]) for line in lines}
    for seed in range(given.seeds):
        for case in cases(given, seed):
            split = Split(case, seed)
            for names, way in WAYS.items():
                missing = {(case.name, seed, name) for name in names} - there
                if missing and given.only in case.name and given.methods in " ".join(names):
                    for method, scores in way(split):
                        lines.append({"case": case.name, "seed": seed, "method": method} | scores)
                        with given.out.open("a") as file:
                            print(json.dumps(lines[-1]), file=file)
                        print(lines[-1], flush=True)
    print(summary(lines))


if __name__ == "__main__":
    main()
