"""Groups of held-out samples in which the model is worse, by columns of a table or the looks of images."""

import math
from typing import Any

import numpy as np
import torch

from reweigh.data import Dataset
from reweigh.data.findings import traits_of
from reweigh.data.splits import at_origin
from reweigh.data.tables.columns import Numeric
from reweigh.names import plural
from reweigh.runs.read import Account
from reweigh.runs.words import percent

MIN_GROUP_SIZE = 20  # held-out samples in each half
MAX_LEAVES = 4  # of the tree that divides the samples
SURE = 2.5  # standard errors between the group and the others
MAX_IMAGES = 2000  # whose brightness is measured


def weak_group(account: Account) -> str:
    """The group in which the model is worst, in a sentence; empty if none is clearly worse, or nothing is known.

    A small tree divides one half of the held-out samples; what it finds is counted in the other half, which it has not
    seen.
    """
    tested, judged, unseen = account.tested, account.held_out, account.unseen
    if tested is None or judged is None or unseen is None or len(tested.label) != len(judged):
        return ""
    features = described(at_origin(unseen, torch.from_numpy(judged.row)))
    count = len(next(iter(features.values()), ()))
    wrong = (tested.label != tested.predicted)[:count]
    half = np.random.default_rng(0).random(count) < 0.5
    found = [worst for part in (half, ~half) if features and (worst := _worst(features, wrong, part))]
    if not found:
        return ""
    _, path, inside, size, outside = max(found)
    return (
        f"The model is worse where {path}: it agrees with {percent(1 - inside)} of {plural(size, 'held-out label')}, "
        f"and with {percent(1 - outside)} of the others. (Found in one half of them, counted in the other.)"
    )


def described(dataset: Dataset) -> dict[str, np.ndarray]:
    """Numbers that describe samples in words that a reader knows, by name, shape (N,) each; empty if there are none."""
    encoding, inputs = dataset.reading.encoding, dataset.inputs
    if dataset.is_images:
        return {name: values.numpy() for name, values in traits_of(dataset, MAX_IMAGES).items()}
    if encoding is None or not isinstance(inputs, torch.Tensor):
        return {}
    found, start = {}, 0
    for column in encoding.columns:
        for place, name in enumerate(column.feature_names):
            values = inputs[:, start + place].numpy()
            scaled = isinstance(column, Numeric) and place == 0
            found[name] = values * column.std + column.mean if scaled else values
        start += len(column.feature_names)
    return found


def _worst(features: dict[str, np.ndarray], wrong: np.ndarray, fitted: np.ndarray) -> tuple[Any, ...] | None:
    """Standard errors, path, share of wrong predictions and size of a group, and share in the others; None if none."""
    from sklearn.tree import DecisionTreeClassifier

    names, matrix, apart = list(features), np.stack(list(features.values()), 1), ~fitted
    if min(fitted.sum(), apart.sum()) < 2 * MIN_GROUP_SIZE or len({*wrong[fitted]}) < 2:
        return None
    tree = DecisionTreeClassifier(max_leaf_nodes=MAX_LEAVES, min_samples_leaf=MIN_GROUP_SIZE, random_state=0)
    member = tree.fit(matrix[fitted], wrong[fitted]).decision_path(matrix).toarray().astype(bool).T
    worst = max(range(1, len(member)), key=lambda node: _far(wrong, member[node], fitted), default=0)
    inside, others = wrong[apart & member[worst]], wrong[apart & ~member[worst]]
    far = _far(wrong, member[worst], apart)
    return (far, _path(tree.tree_, worst, names), inside.mean(), len(inside), others.mean()) if far >= SURE else None


def _far(wrong: np.ndarray, member: np.ndarray, part: np.ndarray) -> float:
    """How many standard errors the members are worse than the others, in a part of the samples; 0 if too few."""
    inside, others = wrong[part & member], wrong[part & ~member]
    if min(len(inside), len(others)) < MIN_GROUP_SIZE:
        return 0.0
    error = math.sqrt(sum(max(some.mean() * (1 - some.mean()), 0.01) / len(some) for some in (inside, others)))
    return float(inside.mean() - others.mean()) / error


def _path(tree: Any, leaf: int, names: list[str]) -> str:
    """The conditions on the way to a leaf, such as "age is above 40 and town=Ulm is not"."""
    words = []
    while leaf:
        right = leaf in tree.children_right
        parent = int(np.flatnonzero((tree.children_right if right else tree.children_left) == leaf)[0])
        name, value = names[tree.feature[parent]], tree.threshold[parent]
        yes_or_no = "=" in name and value == 0.5
        limit = f"is {'above' if right else 'at most'} {value:.4g}"
        words.append((name if right else f"not {name}") if yes_or_no else f"{name} {limit}")
        leaf = parent
    return " and ".join(reversed(words))
