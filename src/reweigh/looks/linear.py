"""Looks by logistic regression, fitted until nothing moves: for words that add up, and for tables of few rows."""

from math import prod
from typing import Any, ClassVar

import numpy as np
import torch
from torch import nn

from reweigh.looks.classifiers import Classifiers, Parts
from reweigh.models.linear import LinearRows

STRENGTHS = (0.1, 1.0, 10.0)  # of the fit against the penalty (C); the first only for few samples
FEW = 2000  # of them at most; all their folds choose the strength, and one fold of more samples is enough


class LogisticRegressions(Classifiers):
    """Logistic regressions that look at a training set; held-out labels choose their penalty."""

    name: ClassVar = "logistic regression"
    most: ClassVar = 0.5  # networks that have not settled are too unsure, though not more often wrong

    def trained(
        self, rows: Any, parts: list[Parts], folds: list[np.ndarray], setting: Any
    ) -> tuple[list[nn.Module], Any]:
        """The setting is the strength."""
        choosing, strengths = (parts, STRENGTHS) if rows.shape[0] <= FEW else (parts[:1], STRENGTHS[1:])
        found: dict[float, list[Any]] = {}
        if setting is None:
            found = {each: [self._fitted_one(rows, part, each) for part in choosing] for each in strengths}
            setting = min(strengths, key=lambda each: self._loss(found[each], rows, folds))
        fitted = found.get(setting, [])
        fitted += [self._fitted_one(rows, part, setting) for part in parts[len(fitted) :]]
        return [self._module(each) for each in fitted], setting

    def _fitted_one(self, rows: Any, part: Parts, strength: float) -> Any:
        from sklearn.dummy import DummyClassifier
        from sklearn.linear_model import LogisticRegression

        one_class = (part.classes == part.classes[0]).all()
        regression = DummyClassifier() if one_class else LogisticRegression(C=strength, tol=1e-3, max_iter=300)
        return regression.fit(rows[part.samples], part.classes, sample_weight=part.weight)

    def _loss(self, fitted: list[Any], rows: Any, folds: list[np.ndarray]) -> float:
        """The loss of held-out given labels; a fold may be empty."""
        judged = [(each, fold) for each, fold in zip(fitted, folds, strict=False) if fold.any()]
        return sum(self.losses(each.predict_proba(rows[fold]), each.classes_, fold) for each, fold in judged)

    def _module(self, regression: Any) -> nn.Module:
        found = LinearRows(prod(self.train_set.shape), self.given.shape[1])
        classes = torch.from_numpy(regression.classes_)
        if len(classes) == 1:
            found.offset[classes] = 0
            return found
        both = [torch.from_numpy(each).float() for each in (regression.coef_, regression.intercept_)]
        if len(classes) == 2:
            both = [torch.cat([0 * each, each]) for each in both]
        found.fill(*both, classes)
        return found
