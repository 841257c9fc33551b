"""Looks by logistic regression, fitted until nothing moves: for texts, whose words add up."""

from typing import Any, ClassVar

import numpy as np
import torch
from torch import nn

from reweigh.looks.classifiers import Classifiers, Parts
from reweigh.models.linear import LinearRows

STRENGTHS = (1.0, 10.0)  # of the fit against the penalty (C)


class LogisticRegressions(Classifiers):
    """Logistic regressions that look at a training set; held-out labels choose their penalty."""

    name: ClassVar = "logistic regression"
    most: ClassVar = 0.5  # networks that have not settled are too unsure, though not more often wrong

    def trained(
        self, rows: Any, parts: list[Parts], folds: list[np.ndarray], setting: Any
    ) -> tuple[list[nn.Module], Any]:
        first = {}
        if setting is None:
            first = {strength: self._fitted_one(rows, parts[0], strength) for strength in STRENGTHS}
            held_out = folds[0]
            setting = min(first, key=lambda each: self._loss(first[each], rows, held_out))
        regressions = [first.get(setting) or self._fitted_one(rows, parts[0], setting)]
        regressions += [self._fitted_one(rows, part, setting) for part in parts[1:]]
        return [self._module(each) for each in regressions], setting

    def _fitted_one(self, rows: Any, part: Parts, strength: float) -> Any:
        from sklearn.linear_model import LogisticRegression

        regression = LogisticRegression(C=strength, tol=1e-3, max_iter=300)
        return regression.fit(rows[part.samples], part.classes, sample_weight=part.weight)

    def _loss(self, regression: Any, rows: Any, held_out: np.ndarray) -> float:
        return self.losses(regression.predict_proba(rows[held_out]), regression.classes_, held_out)

    def _module(self, regression: Any) -> nn.Module:
        found = LinearRows(regression.coef_.shape[1], self.given.shape[1])
        coefficients, offsets = (
            torch.from_numpy(regression.coef_).float(),
            torch.from_numpy(regression.intercept_).float(),
        )
        if len(regression.classes_) == 2:
            coefficients, offsets = (torch.cat([0 * each, each]) for each in (coefficients, offsets))
        found.fill(coefficients, offsets, torch.from_numpy(regression.classes_))
        return found
