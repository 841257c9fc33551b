"""Looks by boosted trees: each leaves out a fold, and predicts it."""

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from torch import nn

from reweigh.looks.classifiers import Classifiers, Parts
from reweigh.models.trees import Trees, bin_edges, bins

ITERATIONS = (20, 80)  # at first, and at most; held-out labels choose how many
STILL_BETTER = 0.75  # if they choose more than this share of the iterations, there may be twice as many
DEPTH = 8
LEAVES = 31
RATE = 0.25
FEATURES = 0.3  # share of the features that a node may ask for
PENALTY = 3.0  # of large leaf values (l2)
MIN_LEAF = (5, 20)  # samples in a leaf, at least: from few samples, from many
SAMPLES_PER_LEAF = 50  # samples of the training set for one in a leaf, between these limits
OVERSHOOT = 1.25  # iterations of the second look, whose labels are less often wrong, for each of the first


class BoostedTrees(Classifiers):
    """Boosted trees that look at a training set; held-out labels choose how many, so that none are memorized."""

    name: ClassVar = "boosted trees"

    def trained(
        self, rows: Any, parts: list[Parts], folds: list[np.ndarray], setting: Any
    ) -> tuple[list[nn.Module], int]:
        """The setting is the number of iterations."""
        edges = bin_edges(rows)
        rows = bins(rows, edges)  # scikit-learn would find them anew for each fit, slowly if samples have weights
        learners = [self._learner(rows, part) for part in parts]
        grown, most = ITERATIONS if setting is None else (round(OVERSHOOT * setting),) * 2
        while True:
            boosters = [learner(grown) for learner in learners]
            if setting is not None:
                best = grown
                break
            losses = [self._losses(each, rows, held_out) for each, held_out in zip(boosters, folds, strict=True)]
            best = int(np.argmin(np.sum(losses, axis=0))) + 1
            if grown >= most or best <= STILL_BETTER * grown:
                break
            grown *= 2
        return [Trees.of(each, self.given.shape[1], best, edges) for each in boosters], best

    def _learner(self, rows: np.ndarray, part: Parts) -> Callable[[int], Any]:
        """Fits trees of so many iterations."""
        from sklearn.ensemble import HistGradientBoostingClassifier

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
        seen = rows[part.samples]
        return lambda grown: booster.set_params(max_iter=grown).fit(seen, part.classes, sample_weight=part.weight)

    def _losses(self, booster: Any, rows: np.ndarray, held_out: np.ndarray) -> np.ndarray:
        """The sum of the losses of held-out given labels after each iteration, shape (iterations,)."""
        if not held_out.any():  # a fold without samples: there are fewer groups than folds
            return np.zeros(booster.n_iter_)
        chances = booster.staged_predict_proba(rows[held_out])
        return np.array([self.losses(each, booster.classes_, held_out) for each in chances])
