"""Traps in a dataset: columns that give the label away, rows in the order of their labels, samples in both parts."""

import shlex

import numpy as np
import torch

from reweigh.data.checks import listed, plural
from reweigh.data.dataset import Dataset
from reweigh.data.tables.cells import MISSING

ROWS = 3000  # rows that a tree is fitted to and scored on
COLUMNS = 300
DETERMINES = 0.97  # held-out accuracy of a tree on one column
NEARLY = 0.8  # of the way from a guess to certainty
ORDERED = 0.5  # of the way from a guess to certainty
FEWEST = 40  # samples; fewer prove nothing
FEW = 5  # smallest class that a tree can learn


def leaks(dataset: Dataset) -> list[str]:
    """Columns of a table that nearly determine the label, in words.

    A tree on one column alone, scored on rows that it has not seen. If labels are wrong at random, no honest column
    comes near certainty; a column that does was made from the label, or is the label.
    """
    encoding, chosen = dataset.reading.encoding, _some(dataset)
    if encoding is None or len(encoding.columns) < 2 or len(chosen) < FEWEST:  # the only one cannot be left out
        return []
    labels = dataset.labels[chosen].numpy()
    inputs = dataset.inputs[chosen].numpy()
    found, start = [], 0
    for column in encoding.columns[:COLUMNS]:
        names = column.feature_names
        block, start = inputs[:, start : start + len(names)], start + len(names)
        score, guess = _score(block, labels), _guess(labels)
        gaps = next((block[:, place] > 0 for place, name in enumerate(names) if name.endswith(MISSING)), None)
        where = ""
        if gaps is not None and (~gaps).sum() >= FEWEST and not _determines(score, guess):
            score, guess = _score(block[~gaps], labels[~gaps]), _guess(labels[~gaps])
            where = f" where it has a value (in {1 - gaps.mean():.0%} of the rows)"
        if _determines(score, guess):
            found.append(
                f"Column {column.name!r} alone predicts {score:.1%} of the labels{where}; the most frequent class is "
                f"{guess:.0%} of them. If the column is made from the label, or known only afterward, leave it out: "
                f"--drop {shlex.quote(column.name)}."
            )
    return found


def _determines(score: float, guess: float) -> bool:
    """Whether a score is near certainty, and not only because one class is."""
    return score >= max(DETERMINES, guess + NEARLY * (1 - guess))


def order(dataset: Dataset) -> list[str]:
    """Whether the labels follow the order of the rows, in words."""
    chosen = _some(dataset)
    if len(chosen) < FEWEST or len(dataset.reading.names):  # files are always in the order of their class folders
        return []
    labels = dataset.labels[chosen].numpy()
    score, guess = _score(chosen.numpy()[:, None].astype(np.float32), labels), _guess(labels)
    if score < guess + ORDERED * (1 - guess):
        return []
    return [
        f"The rows are in the order of their labels: the row number alone predicts {score:.1%} of them. Columns that "
        "count rows or rise with time would give the label away."
    ]


def in_both(train: Dataset, test: Dataset) -> list[str]:
    """How many test samples are exact copies of training samples, in words."""
    if train.shape != test.shape or train.dtype != test.dtype:
        return []
    seen = {row.tobytes() for row in _rows(train)}
    copies = [row for row, sample in enumerate(_rows(test)) if sample.tobytes() in seen]
    if not copies:
        return []
    return [
        f"{plural(len(copies), 'test sample is', 'test samples are')} also in the training part (row {listed(copies)} "
        "of the test part): the score on them is too good."
    ]


def _rows(dataset: Dataset) -> "np.ndarray":
    return dataset.inputs[torch.arange(len(dataset))].flatten(1).contiguous().numpy()


def _some(dataset: Dataset) -> torch.Tensor:
    """Indices of labeled samples, at most ROWS, spread over the dataset; of classes that a tree can learn from them."""
    labeled = dataset.labeled.nonzero().flatten()
    chosen = labeled[:: max(1, -(-len(labeled) // ROWS))]
    return chosen[torch.bincount(dataset.labels[chosen])[dataset.labels[chosen]] >= FEW] if len(chosen) else chosen


def _guess(labels: np.ndarray) -> float:
    """The accuracy of always naming the most frequent class."""
    return float(np.unique(labels, return_counts=True)[1].max() / len(labels))


def _score(features: np.ndarray, labels: np.ndarray) -> float:
    """Accuracy of a small tree on rows that it was not fitted to; half of them and the other half."""
    from sklearn.tree import DecisionTreeClassifier

    half = np.random.default_rng(0).random(len(labels)) < 0.5
    right = 0
    for fitted in (half, ~half):
        tree = DecisionTreeClassifier(max_leaf_nodes=max(8, 4 * len(np.unique(labels))), random_state=0)
        right += int((tree.fit(features[fitted], labels[fitted]).predict(features[~fitted]) == labels[~fitted]).sum())
    return right / len(labels)
