"""Boosted trees as a module: trained by scikit-learn, stored and computed as tensors."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

ABSENT = -20.0  # logit of a class that the trees never saw
MAX_BINS = 255
MAX_CELLS = 2**22  # rows times trees that are computed at once


class Trees(nn.Module):
    """The sum of many trees, each for one class: rows of numbers to logits.

    >>> from sklearn.ensemble import HistGradientBoostingClassifier
    >>> rows, labels = np.random.default_rng(0).normal(size=(200, 3)).astype("float32"), np.arange(200) % 4
    >>> booster = HistGradientBoostingClassifier(max_iter=5).fit(rows, labels)
    >>> trees = Trees.of(booster, num_classes=4)
    >>> np.allclose(trees(torch.tensor(rows)).softmax(1), booster.predict_proba(rows))
    True

    Attributes:
        feature: Shape (T, M), the feature that each node asks for; trees have M nodes, filled up with leaves.
        threshold: Shape (T, M); a row goes to ``left`` if its feature is at most this.
        left: Shape (T, M), a node; a leaf is its own.
        right: Shape (T, M), likewise.
        value: Shape (T, M), what a leaf adds to the logit of the class.
        output: Shape (T,), the class of each tree.
        offset: Shape (C,), logits before any tree.
        steps: Shape (depth,), zeros: as many as there are questions from root to leaf, at most. A number in a buffer
            would not be known when the module is exported; a shape is.
    """

    feature: Tensor
    threshold: Tensor
    left: Tensor
    right: Tensor
    value: Tensor
    output: Tensor
    offset: Tensor
    steps: Tensor

    def __init__(self, trees: int, nodes: int, num_classes: int, depth: int):
        super().__init__()
        for name in ("feature", "left", "right"):
            self.register_buffer(name, torch.zeros(trees, nodes, dtype=torch.int32))
        self.register_buffer("threshold", torch.zeros(trees, nodes))
        self.register_buffer("value", torch.zeros(trees, nodes))
        self.register_buffer("output", torch.zeros(trees, dtype=torch.int64))
        self.register_buffer("offset", torch.zeros(num_classes))
        self.register_buffer("steps", torch.zeros(depth))

    @classmethod
    def of(
        cls,
        booster: Any,
        num_classes: int,
        iterations: int | None = None,
        edges: Sequence[np.ndarray] | None = None,
        classes: Sequence[int] | None = None,
    ) -> "Trees":
        """The trees of a fitted ``HistGradientBoostingClassifier`` whose classes are numbers below ``num_classes``.

        Args:
            iterations: How many of its iterations count; all by default.
            edges: If it was fitted on the bins of each feature: where they end; see ``bins``.
            classes: What its classes stand for; themselves by default.
        """
        classes = [int(label) for label in (booster.classes_ if classes is None else classes)]
        # scikit-learn has no public way to its trees; a test compares. Of a single class they know nothing
        steps = booster._predictors[:iterations] if len(classes) > 1 else []
        outputs = classes if len(classes) > 2 else classes[1:]
        nodes = [predictor.nodes for step in steps for predictor in step]
        depth = int(max((each["depth"].max() for each in nodes), default=0))
        found = cls(len(nodes), max((len(each) for each in nodes), default=1), num_classes, depth)
        found.output.copy_(torch.tensor(outputs).repeat(len(steps)))
        for place, each in enumerate(nodes):
            found._fill(place, each, edges)
        found.offset.fill_(ABSENT)
        found.offset[torch.tensor(classes)] = 0.0
        baseline = booster._baseline_prediction.ravel()[: len(outputs)]
        found.offset[torch.tensor(outputs, dtype=torch.int64)] = torch.tensor(baseline, dtype=torch.float32)
        return found

    def _fill(self, tree: int, nodes: np.ndarray, edges: Sequence[np.ndarray] | None) -> None:
        count, leaf = len(nodes), nodes["is_leaf"].astype(bool)
        itself = np.arange(count)
        if edges is not None:
            nodes = nodes.copy()
            for node in np.flatnonzero(~leaf):
                ends = edges[nodes["feature_idx"][node]]
                nodes["num_threshold"][node] = ends[int(nodes["num_threshold"][node])]
        # rows are in single precision: the largest such number that is not above the threshold divides them alike
        threshold = nodes["num_threshold"].astype(np.float32)
        lower = np.nextafter(threshold, np.float32(-np.inf))
        threshold = np.where(threshold > nodes["num_threshold"], lower, threshold)
        values = {
            "feature": np.where(leaf, 0, nodes["feature_idx"]),
            "threshold": np.where(leaf, 0, threshold),
            "left": np.where(leaf, itself, nodes["left"]),
            "right": np.where(leaf, itself, nodes["right"]),
            "value": np.where(leaf, nodes["value"], 0),
        }
        for name, value in values.items():
            getattr(self, name)[tree, :count] = torch.from_numpy(value.astype(np.float64)).to(getattr(self, name))

    def forward(self, inputs: Tensor) -> Tensor:
        """Logits, shape (n, num_classes)."""
        rows = inputs.flatten(1)
        if len(self.output) == 0:
            return self.offset.expand(rows.shape[0], -1)
        if torch.compiler.is_exporting():  # the number of rows is not known
            return self._logits(rows)
        return torch.cat([self._logits(some) for some in rows.split(max(1, MAX_CELLS // len(self.output)))])

    def _logits(self, rows: Tensor) -> Tensor:
        trees, nodes = self.feature.shape
        start = torch.arange(trees, device=rows.device) * nodes
        place = start.expand(rows.shape[0], -1)
        feature, threshold, left, right = (
            each.flatten() for each in (self.feature.long(), self.threshold, self.left.long(), self.right.long())
        )
        for _ in range(len(self.steps)):
            goes_left = rows.gather(1, feature[place]) <= threshold[place]
            place = start + torch.where(goes_left, left[place], right[place])
        values = self.value.flatten()[place]
        return self.offset + values.new_zeros(rows.shape[0], len(self.offset)).index_add(1, self.output, values)


def rebuilt_trees(state: Mapping[str, Tensor]) -> Trees | None:
    """Trees that fit this state; None if it is that of another module."""
    if not {"threshold", "offset", "steps"} <= state.keys():
        return None
    trees, nodes = state["threshold"].shape
    return Trees(trees, nodes, len(state["offset"]), len(state["steps"]))


def bin_edges(rows: np.ndarray) -> list[np.ndarray]:
    """Where the bins of each feature end, at most ``MAX_BINS``: between distinct values, or at quantiles."""
    found = []
    for column in rows.T:
        distinct = np.unique(column)
        if len(distinct) > MAX_BINS:
            distinct = np.unique(np.quantile(column, np.linspace(0, 1, MAX_BINS), method="lower"))
        middle = distinct[:-1] + (distinct[1:] - distinct[:-1]) / 2
        found.append(np.clip(middle, distinct[:-1], np.nextafter(distinct[1:], -np.inf, dtype=rows.dtype)))
    return found


def bins(rows: np.ndarray, edges: Sequence[np.ndarray]) -> np.ndarray:
    """The number of the bin of each cell: a cell is at most ``edges[j]`` exactly if its bin is at most j.

    >>> bins(np.array([[1.0], [2.0], [9.0]]), [np.array([1.5, 4.0])])
    array([[0.],
           [1.],
           [2.]])
    """
    columns = [np.searchsorted(ends, column, side="left") for ends, column in zip(edges, rows.T, strict=True)]
    return np.stack(columns, 1).astype(np.float64)
