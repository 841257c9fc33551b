"""Which labeler to ask next, on simulated votes: python benchmarks/next_labels.py --tables FOLDER [--data FILE]

One vote per sample, a second one for three in ten; then ROUNDS times STEP further votes, chosen in one of four ways:
at random; where the consensus is least sure, from anybody; the same, from the most accurate labeler; and by
``next_votes``. Predictions are those of logistic regression on the first votes. Accuracy of the consensus after each
round, mean over cases and seeds, and mean lead of ``next_votes`` over rounds.
"""

import argparse
import importlib
import logging
import sys
import warnings
from typing import Any

import numpy as np
import pandas as pd
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from reweigh import Votes
from reweigh.issues.consensus import next_votes
from reweigh.issues.labelers import first_consensus, weigh_votes

TABLES = ("contraceptive", "yeast", "car")
ACCURACIES = (0.9, 0.75, 0.6, 0.85)
SAMPLES, STEP, ROUNDS = 400, 60, 4
WAYS = ("random", "unsure", "unsure, best labeler", "next_votes")


def looks(inputs: np.ndarray, given: np.ndarray, classes: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Predictions for all samples, and by models that did not see them, as if classes were equally frequent."""
    fold = np.random.default_rng(seed).integers(0, 4, len(inputs))
    apart, own = np.full((2, len(inputs), classes), 1e-4)
    for each in range(4):
        model = LogisticRegression(C=0.1, max_iter=40).fit(inputs[fold != each], given[fold != each])
        rows = model.predict_proba(inputs)
        apart[np.ix_(fold == each, model.classes_)] += rows[fold == each]
        own[np.ix_(fold != each, model.classes_)] += rows[fold != each] / 3
    shares = np.bincount(given, minlength=classes) / len(given) + 1e-4
    apart, own = (torch.tensor(each / shares).float() for each in (apart, own))
    return (apart.log() + own.log()).div(2).softmax(1), apart / apart.sum(1, keepdim=True)


def chosen(way: str, votes: Votes, found: Any, kept: np.ndarray, random: Any) -> tuple[np.ndarray, np.ndarray]:
    """Samples and labelers to ask; no labeler twice about a sample."""
    if way == "next_votes":
        table = next_votes(votes, found, found.posterior, STEP)
        return table["sample"].to_numpy(), table["labeler"].astype(int).to_numpy()
    doubt = random.random(len(kept)) if way == "random" else 1 - found.posterior.max(1).values.numpy()
    samples = np.argsort(-np.where(kept.all(1), -1.0, doubt), kind="stable")[:STEP]
    worth = found.accuracy.numpy() if "best" in way else random.random(kept.shape)
    return samples, np.where(kept, -1.0, worth)[samples].argmax(1)


def run(inputs: np.ndarray, true: np.ndarray, seed: int) -> dict[str, list[float]]:
    """Accuracy of the consensus before and after each round."""
    random, classes = np.random.default_rng(seed), true.max() + 1
    rows = random.permutation(len(true))[:SAMPLES]
    inputs, true, people = inputs[rows], true[rows], len(ACCURACIES)
    wrong = (true[:, None] + random.integers(1, classes, (SAMPLES, people))) % classes
    said = np.where(random.random((SAMPLES, people)) < ACCURACIES, true[:, None], wrong)
    first = np.arange(people) == random.integers(people, size=SAMPLES)[:, None]
    first |= (np.arange(people) == random.integers(people, size=SAMPLES)[:, None]) & (random.random((SAMPLES, 1)) < 0.3)

    def as_votes(kept: np.ndarray) -> Votes:
        return Votes.of(pd.DataFrame(np.where(kept, said, -1), columns=pd.Index(range(people)).astype(str)))

    votes, labels = first_consensus(as_votes(first))
    numbers = votes.classes.astype(int)
    by_all, by_others = looks(inputs, labels.numpy().clip(0), len(numbers), seed)
    result = {}
    for way in WAYS:
        kept, accuracies = first.copy(), []
        for _ in range(ROUNDS + 1):
            votes = as_votes(kept)
            place = torch.tensor([numbers.tolist().index(c) if c in numbers else -1 for c in votes.classes.tolist()])
            votes = votes.among(numbers, place)
            found = weigh_votes(votes, by_all, by_others, torch.arange(SAMPLES))
            accuracies.append(float((numbers[found.posterior.argmax(1).numpy()] == true).mean()))
            kept[chosen(way, votes, found, kept, random)] = True
        result[way] = accuracies
    return result


def main() -> None:
    """Run all cases, and print them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", required=True)
    parser.add_argument("--data")
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    sys.path.insert(0, given.tables)
    tables: Any = importlib.import_module("tables")
    cases = {}
    for name in TABLES:
        table, labels = tables.load(name)
        cases[name] = pd.get_dummies(table).fillna(0).to_numpy(float), np.unique(labels, return_inverse=True)[1]
    if given.data:
        data = np.load(given.data)
        cases["cifar-10"] = data["x_train"][:4000, :200], data["y_train"][:4000]
    everything = []
    for name, (inputs, true) in cases.items():
        inputs = StandardScaler().fit_transform(inputs)
        for seed in range(given.seeds):
            everything.append(run(inputs, true, seed))
            means = {way: round(float(np.mean(each[1:])), 4) for way, each in everything[-1].items()}
            print(name, seed, means, flush=True)
    for way in WAYS:
        means = np.mean([each[way] for each in everything], 0)
        leads = [np.mean(each["next_votes"][1:]) - np.mean(each[way][1:]) for each in everything]
        lead = f"next_votes leads by {np.mean(leads):+.4f} +- {np.std(leads) / len(leads) ** 0.5:.4f}"
        print(f"{way:22} {means.round(4).tolist()}  {lead}")


if __name__ == "__main__":
    main()
