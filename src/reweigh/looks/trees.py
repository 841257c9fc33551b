"""Looks by boosted trees: each leaves out a fold, and predicts it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from reweigh.data import Dataset
from reweigh.issues.stock import TINY
from reweigh.looks.look import Look
from reweigh.losses.class_sizes import log_shares
from reweigh.models.trees import Trees, bin_edges, bins, rebuilt_trees
from reweigh.training.stages import Stages

ITERATIONS = (20, 80)  # at first, and at most; held-out labels choose how many
STILL_BETTER = 0.75  # if they choose more than this share of the iterations, there may be twice as many
DEPTH = 8
LEAVES = 31
RATE = 0.25
FEATURES = 0.3  # share of the features that a node may ask for
PENALTY = 3.0  # of large leaf values (l2)
MIN_LEAF = (5, 20)  # samples in a leaf, at least: from few samples, from many
SAMPLES_PER_LEAF = 50  # samples of the training set for one in a leaf, between these limits
LEAST_PART = 0.02  # a class that is less likely than this is not learned
OVERSHOOT = 1.25  # iterations of the second look, whose labels are less often wrong, for each of the first


@dataclass(frozen=True)
class BoostedTrees:
    """Boosted trees that look at a training set.

    Attributes:
        train_set: Rows of numbers.
        given: Shape (N, C), the given labels as rows that sum to one.
        stages: Keeps the result of each training, for a run that is resumed.
        seed: Random state of the trees.
        prior: Whether the models predict as if all classes were equally frequent.
    """

    train_set: Dataset
    given: Tensor
    stages: Stages
    seed: int
    prior: bool

    def first(self, fold: Tensor, folds: int) -> Look:
        """Trees without each fold, as many as predict held-out labels best, so that wrong labels are not memorized."""
        found = self.stages("first look of trees", lambda: self._trained(self.given, fold, folds, None))
        return self._look(found, fold, self.given)

    def again(self, targets: Tensor, fold: Tensor, first: Look) -> Look:
        """Trees that learn the likely classes of each sample.

        Args:
            targets: Shape (N, C), how likely each class is.
            first: The first look, which says how many trees there are.
        """
        iterations = round(OVERSHOOT * int(first.history[-1]["iterations"]))
        found = self.stages("second look of trees", lambda: self._trained(targets, fold, len(first.models), iterations))
        return self._look(found, fold, targets)

    def _trained(self, targets: Tensor, fold: Tensor, folds: int, iterations: int | None) -> dict[str, Any]:
        """Trees without each fold as tensors, and how many iterations they have.

        Args:
            iterations: How many; None lets held-out labels choose.
        """
        rows = self._rows()
        edges = bin_edges(rows)
        rows = bins(rows, edges)  # scikit-learn would find them anew for each fit, slowly if samples have weights
        learners = [self._learner(rows, targets, fold != number) for number in range(folds)]
        grown, most = (iterations, iterations) if iterations else ITERATIONS
        while True:
            boosters = [learner(grown) for learner in learners]
            if iterations:
                best = iterations
                break
            losses = [self._held_out_losses(each, rows, fold == number) for number, each in enumerate(boosters)]
            best = int(np.argmin(np.sum(losses, axis=0))) + 1
            if grown >= most or best <= STILL_BETTER * grown:
                break
            grown *= 2
        trees = [Trees.of(each, targets.shape[1], best, edges) for each in boosters]
        return {"states": [dict(each.state_dict()) for each in trees], "iterations": best}

    def _learner(self, rows: np.ndarray, targets: Tensor, seen: Tensor) -> Callable[[int], Any]:
        """Fits trees of so many iterations on the samples that they may see; a sample has a row per likely class."""
        from sklearn.ensemble import HistGradientBoostingClassifier

        parts = (targets * seen[:, None]).numpy()
        index, classes = np.nonzero(parts > LEAST_PART)
        weight = parts[index, classes]
        if self.train_set.sample_weight is not None:
            weight = weight * self.train_set.sample_weight.numpy()[index]
        few, many = MIN_LEAF
        booster = HistGradientBoostingClassifier(
            learning_rate=RATE,
            max_leaf_nodes=LEAVES,
            max_depth=DEPTH,
            max_features=FEATURES,
            min_samples_leaf=int(np.clip(len(rows) // SAMPLES_PER_LEAF, few, many)),
            l2_regularization=PENALTY,
            early_stopping=False,  # pyright: ignore[reportArgumentType] (declared as a string)
            random_state=self.seed,
            warm_start=True,
        )
        return lambda grown: booster.set_params(max_iter=grown).fit(rows[index], classes, sample_weight=weight)

    def _held_out_losses(self, booster: Any, rows: np.ndarray, held_out: Tensor) -> np.ndarray:
        """The sum of the losses of held-out given labels after each iteration, shape (iterations,)."""
        if not held_out.any():  # a fold without samples: there are fewer groups than folds
            return np.zeros(booster.n_iter_)
        given = self.given[held_out].numpy()[:, booster.classes_]
        chances = booster.staged_predict_proba(rows[held_out.numpy()])
        return np.array([-np.log((given * each).sum(1).clip(TINY)).sum() for each in chances])

    def _look(self, found: Mapping[str, Any], fold: Tensor, targets: Tensor) -> Look:
        models: list[nn.Module] = []
        logs = []
        held_out = (fold >= 0).nonzero().flatten()
        rows = torch.from_numpy(self._rows())
        for number, state in enumerate(found["states"]):
            trees = rebuilt_trees(state)
            assert trees is not None
            trees.load_state_dict(state)
            shares = log_shares(targets[fold != number].sum(0)).float()
            if self.prior:
                trees.offset -= shares
            logs.append((trees(rows) if self.prior else trees(rows) - shares).log_softmax(1))
            models.append(trees.eval())
        each = torch.stack(logs)
        unseen = each[fold[held_out], held_out]
        best = each.mean(0).log_softmax(1).index_copy(0, held_out, unseen)
        return Look(models, best, best, unseen, held_out, True, [{"iterations": found["iterations"]}])

    def _rows(self) -> np.ndarray:
        """The samples as the model gets them, shape (N, F), in single precision."""
        index = torch.arange(len(self.train_set)).split(self.train_set.chunk)
        return torch.cat([batch.inputs.flatten(1).float() for batch in self.train_set.batches(index)]).numpy()
