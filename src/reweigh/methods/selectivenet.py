"""Methods that may abstain: SelectiveNet, which learns what to predict at all, and softmax response."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import torch
from annotated_types import Ge, Gt, Le
from torch import Tensor, nn

from reweigh.core.objective import Batch, Forward, Loss, MetaObjective, Objective, Terms
from reweigh.methods.erm import ERM
from reweigh.models.selective import Heads, SelectiveModel


@dataclass(frozen=True)
class SelectiveRisk:
    """The loss of the samples that are predicted, and a penalty if these are too few.

        risk = mean of g_i L(f(x_i), y_i) / coverage + penalty * max(0, wanted - coverage)^2,     coverage = mean of g_i

    Attributes:
        loss: (logits, labels) -> loss of each sample.
        wanted: Coverage below which the penalty begins. Paper: c.
        penalty: Factor of the penalty. Paper: lambda.
    """

    loss: Loss
    wanted: float
    penalty: float

    def __call__(self, heads: Heads, labels: Tensor, scale: Tensor | float = 1.0) -> Tensor:
        """The risk of a batch, a scalar.

        Args:
            labels: Shape (n,), or (n, num_classes).
            scale: Shape (n,), sample weights from the user.
        """
        accepted = heads.selection.sigmoid()
        least = torch.finfo(accepted.dtype).eps  # if nothing is selected, or no sample counts
        total = scale.sum().clamp_min(least) if isinstance(scale, Tensor) else len(accepted)
        coverage = (scale * accepted).sum() / total
        risk = (scale * accepted * self.loss(heads.logits, labels)).mean() / coverage.clamp_min(least)
        return risk + self.penalty * (self.wanted - coverage).relu().square()


@dataclass(eq=False, repr=False, kw_only=True)
class SelectiveNet(ERM):
    """A selection head beside the prediction head decides what is predicted (Geifman and El-Yaniv, ICML 2019).

        alpha * risk of what is predicted, with its penalty  +  (1 - alpha) * mean of L(h(x_i), y_i)

    The auxiliary head h learns from every sample, so that the features do not overfit to the samples that were selected
    early. ``reweigh predict --coverage`` sets the threshold of the score.

    During the warm-up, which the paper does not have, every sample is selected. Without a warm-up, under a long tail,
    the selection head gives up the rare classes in the first epochs, and the prediction head never learns them.

    Geifman, El-Yaniv: SelectiveNet: A Deep Neural Network with an Integrated Reject Option.

    Args:
        coverage: Share of the samples that should be predicted. Paper: c. A model is trained for one coverage; its
            scores rank samples for any other.
        penalty: Factor of the penalty for a lower coverage. Paper: lambda.
        alpha: Share of the selective risk in the objective; the loss of the auxiliary head has the rest. Paper: alpha.
        score: Score by which samples are ranked: "selection" is g(x), as in the paper; "softmax-response" is the
            largest probability of f, which often ranks better (Feng et al., ICLR 2023), most of all for rare classes.
    """

    abstains = True
    deep = True
    state = ("_warm_up",)

    coverage: Annotated[float, Gt(0), Le(1)] = 0.8
    penalty: Annotated[float, Ge(0)] = 32.0
    alpha: Annotated[float, Ge(0), Le(1)] = 0.5
    score: Literal["selection", "softmax-response"] = "selection"

    @staticmethod
    def wraps(model: nn.Module) -> nn.Module:
        return SelectiveModel(model)

    def __post_init__(self) -> None:
        if not isinstance(self.setup.model, SelectiveModel):
            self.setup = self.setup.with_model(SelectiveModel(self.setup.model))
        super().__post_init__()
        assert isinstance(self._model, SelectiveModel)
        self._model.ranks.fill_(self.score == "selection")
        self._risk = SelectiveRisk(self.setup.loss, self.coverage, self.penalty)

    def objective(self, batch: Batch) -> Objective:
        """The auxiliary losses, which may be weighted, and the rest: the risk, or the plain loss in the warm-up."""
        loss, warm_up = self.setup.loss, self._warm_up

        def objective(forward: Forward) -> Terms:
            heads = forward(batch.inputs, heads=True)
            losses = loss(heads.auxiliary, batch.labels)
            if warm_up:
                selected = batch.weighted(loss(heads.logits, batch.labels)).mean()
            else:
                selected = self._risk(heads, batch.labels, batch.scale)
            coefficients = (1 - self.alpha) * batch.weighted(losses)
            return Terms(coefficients, losses, self.alpha * selected, len(losses), heads.logits)

        return objective

    def trusted_objective(self, inputs: Any, labels: Tensor) -> MetaObjective | None:
        """The risk of what is predicted, which weights reach through the features that all heads share."""
        return lambda forward: self._risk(forward(inputs, heads=True), labels)


class SoftmaxResponse(ERM):
    """Plain training, to abstain where the largest probability is small (Geifman and El-Yaniv, NeurIPS 2017)."""

    abstains = True
