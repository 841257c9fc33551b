"""Forward correction: learn true labels from wrong ones, by how classes are confused, known or estimated."""

import logging
from dataclasses import dataclass
from typing import Annotated

from annotated_types import Gt, Le
from pydantic import AfterValidator
from torch import Tensor

from reweigh.core.objective import Batch
from reweigh.errors import RecipeError
from reweigh.losses.cross_entropy import Rows, forward, stochastic
from reweigh.methods.erm import ERM

logger = logging.getLogger(__name__)


@dataclass(eq=False, repr=False, kw_only=True)
class Forward(ERM):
    """Forward correction (Patrini et al., CVPR 2017): cross-entropy of predictions to which the noise is applied.

    If the noise is known, it is corrected from the first step on. Otherwise it is estimated when the warm-up ends,
    after at least one epoch. The paper then trains a second network from scratch; here, the same network continues.

    Patrini, Rozza, Menon, Nock, Qu: Making Deep Neural Networks Robust to Label Noise: a Loss Correction Approach.

    Args:
        transition: Matrix of the noise; row: true class, column: given label; rows sum to one. Paper: T. None until it
            is estimated.
        quantile: Quantile of the predicted probability of a class. The sample at this quantile surely belongs to the
            class and is not an outlier, so the noise of the class is estimated from it. Paper: 0.97; for CIFAR-100 1,
            the largest. A class whose share of the samples is below 1 - quantile needs a higher quantile.
    """

    own_loss = "forward"
    state = ("transition",)

    transition: Annotated[Rows, AfterValidator(stochastic)] | None = None
    quantile: Annotated[float, Gt(0), Le(1)] = 0.97

    def __post_init__(self) -> None:
        super().__post_init__()
        given, classes = self.transition, self.setup.train_set.num_classes
        if given is not None and len(stochastic(given)) != classes:
            raise RecipeError(
                f"method.transition: {len(given)} rows, but the data have {classes} classes; give one row for each"
            )

    def start_epoch(self, epoch: int, warm_up: bool) -> None:
        super().start_epoch(epoch, warm_up)
        if self.transition is None and epoch > 0 and not warm_up:
            probabilities = self.setup.per_sample(self._model, lambda logits, labels: logits.double().softmax(1))
            self.transition = estimate(probabilities, self.quantile)

    def _loss(self, batch: Batch) -> Tensor:
        if self.transition is None:
            return super()._loss(batch)
        losses = forward(self._model(batch.inputs), batch.labels, transition=self.transition)
        return batch.weighted(losses).mean()


def estimate(probabilities: Tensor, quantile: float) -> Rows:
    """The noise, estimated by a model that was trained with it: row i is its prediction for a sample of class i.

    This sample, the anchor of class i, is the one at the given quantile of the probability of class i.

    Args:
        probabilities: Shape (N, num_classes), rows sum to one.
        quantile: Quantile above 0; 1 is the sample with the largest probability.
    """
    rank = int(quantile * (len(probabilities) - 1))
    anchors = probabilities.kthvalue(rank + 1, dim=0).indices
    rows = probabilities[anchors]
    strangers = [row for row, likeliest in enumerate(rows.argmax(1).tolist()) if row != likeliest]
    if strangers:
        logger.warning(
            "forward correction: the samples that classes %s were estimated from are predicted as other classes; for a "
            "rare class raise method.quantile (%g); otherwise the warm-up may be too short, or the noise above 50 %%",
            ", ".join(map(str, strangers)),
            quantile,
        )
    return tuple(map(tuple, rows.tolist()))
