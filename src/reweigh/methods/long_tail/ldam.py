"""LDAM, whose margins are wider for rare classes, and LDAM with deferred reweighting."""

from typing import Annotated

from annotated_types import Ge, Gt, Le, Lt
from torch import Tensor, nn

from reweigh.core.batch import Batch
from reweigh.losses.class_sizes import effective_weights
from reweigh.losses.labels import as_rows
from reweigh.methods.erm import ERM
from reweigh.methods.setup import Setup
from reweigh.models.last_layer import with_cosine_head


class LDAM(ERM):
    """Label-distribution-aware margins (Cao et al., NeurIPS 2019): the rarer the class, the larger its margin.

    As published, the last layer of the model is replaced by one whose logits are cosines times the scale.

    Args:
        max_margin: margin of the rarest class, in cosines.
        scale: factor of cosines in the logits. Paper: s.
    """

    own_loss = "ldam"

    @staticmethod
    def wraps(model: nn.Module) -> nn.Module:
        return with_cosine_head(model)

    def __init__(
        self, setup: Setup, *, max_margin: Annotated[float, Ge(0)] = 0.5, scale: Annotated[float, Gt(0)] = 30.0
    ):
        setup = setup.with_model(with_cosine_head(setup.model, scale))
        super().__init__(setup.with_loss("ldam", max_margin=max_margin, scale=scale))


class DeferredLDAM(LDAM):
    """LDAM with deferred reweighting (Cao et al., NeurIPS 2019): rare classes count more late in training.

    sum_i w_label(i) L_i / sum_i w_label(i)    over a batch,    w_j ~ (1 - beta) / (1 - beta^n_j)

    Cao, Wei, Gaidon, Arechiga, Ma: Learning Imbalanced Datasets with Label-Distribution-Aware Margin Loss, Algorithm 1.

    Args:
        start: share of the epochs in which all classes count the same, unless the warm-up is longer. Paper: 0.8, 160 of
            200 epochs; by default, until the end of the warm-up.
        beta: how much rare classes count: 0 weighs all classes the same; close to 1, a class is weighted by the inverse
            of its size.
        max_margin: margin of the rarest class, in cosines.
        scale: factor of cosines in the logits. Paper: s.
    """

    contains = "uniform"
    state = ("_deferred",)

    def __init__(
        self,
        setup: Setup,
        *,
        start: Annotated[float, Ge(0), Le(1)] = 0.0,
        beta: Annotated[float, Ge(0), Lt(1)] = 0.9999,
        max_margin: Annotated[float, Ge(0)] = 0.5,
        scale: Annotated[float, Gt(0)] = 30.0,
    ):
        super().__init__(setup, max_margin=max_margin, scale=scale)
        self._class_sizes = setup.train_set.class_sizes
        self._start, self._beta = start, beta
        self._deferred = True

    def start_epoch(self, epoch: int, warm_up: bool) -> None:
        super().start_epoch(epoch, warm_up)
        self._deferred = warm_up or epoch < self._start * self._setup.epochs

    def _loss(self, batch: Batch) -> Tensor:
        if self._deferred:
            return super()._loss(batch)
        logits = self._model(batch.inputs)
        weights = as_rows(batch.labels, logits) @ effective_weights(self._class_sizes, logits, self._beta)
        return batch.weighted(weights * self._setup.loss(logits, batch.labels)).sum() / weights.sum()
