"""SelectiveNet with learned weights: biased samples count less where the features are learned from all of them."""

from typing import Any

from torch import Tensor, nn

from reweigh.core.batch import Batch
from reweigh.core.objective import Forward, MetaObjective, Objective, Terms
from reweigh.core.step import Step
from reweigh.errors import RecipeError
from reweigh.methods.abstain.selectivenet import (
    Alpha,
    Coverage,
    Penalty,
    Score,
    SelectiveNet,
    SelectiveRisk,
    with_heads,
)
from reweigh.methods.cmw_net import CMWNet
from reweigh.methods.setup import Setup
from reweigh.models.selective import SelectiveModel


class SelectiveNetCMWNet(CMWNet):
    """CMW-Net on SelectiveNet's auxiliary loss. Paper: supplement, selective classification.

        alpha * risk of what is predicted  +  (1 - alpha) * sum of v_i L(h(x_i), y_i)

    The weights are learned so that one step ahead the risk of f and g on trusted samples, with its penalty, is lower.
    They reach f and g through the features that all heads share. The warm-up is that of ``selectivenet``. All
    options of ``cmw-net`` and of ``selectivenet``.

    Args:
        coverage: share of the samples that should be predicted. Paper: c.
        penalty: factor of the penalty for a lower coverage. Paper: lambda.
        alpha: share of the selective risk in the objective; the auxiliary head has the rest. Paper: alpha.
        score: what samples are ranked by: "selection", as in the paper, or "softmax-response".
        scope: the part of the model that the look-ahead moves: "all", or a pattern over parameter names.
        weighting: file of a weighting function learned elsewhere, used as it is.
    """

    abstains = True

    @staticmethod
    def wraps(model: nn.Module) -> nn.Module:
        return SelectiveModel(model)

    def __init__(
        self,
        setup: Setup,
        *,
        coverage: Coverage = 0.8,
        penalty: Penalty = 32.0,
        alpha: Alpha = 0.5,
        score: Score = "selection",
        scope: str = "all",
        weighting: str | None = None,
    ):
        if scope in ("last-layer", "last-block"):
            raise RecipeError(
                f"method.scope: got {scope!r}, but the weights act through the features below the heads; use 'all' or "
                "a pattern over names, such as 'classifier.layer4.*'"
            )
        setup = with_heads(setup.reweighting(scope=scope))
        super().__init__(setup, weighting=weighting)
        self._plain = SelectiveNet(setup, coverage=coverage, penalty=penalty, alpha=alpha, score=score)
        self._risk = SelectiveRisk(setup.loss, coverage, penalty)
        self._alpha = alpha

    def _train_on(self, batch: Batch, trusted: tuple[Tensor | None, Tensor | None]) -> Step:
        inputs, labels = trusted
        meta = None if labels is None else self._meta(inputs, labels)
        return self._reweighter.step_on(self._objective(batch), batch.labels, meta=meta)

    def _objective(self, batch: Batch) -> Objective:
        def objective(forward: Forward) -> Terms:
            heads = forward(batch.inputs, heads=True)
            losses = self._setup.loss(heads.auxiliary, batch.labels)
            rest = self._alpha * self._risk(heads, batch.labels, batch.scale)
            return Terms((1 - self._alpha) * batch.weighted(losses), losses, rest, len(losses), heads.logits)

        return objective

    def _meta(self, inputs: Any, labels: Tensor) -> MetaObjective:
        return lambda forward: self._risk(forward(inputs, heads=True), labels)
