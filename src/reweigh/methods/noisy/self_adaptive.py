"""Self-adaptive training: labels move toward what the model predicts, and confident samples count more."""

from typing import Annotated

from annotated_types import Ge, Le, Lt
from torch import Tensor

from reweigh.core.batch import Batch
from reweigh.methods.erm import ERM
from reweigh.methods.setup import Setup
from reweigh.pseudo_labels import predictions


class SelfAdaptive(ERM):
    """Self-adaptive training (Huang et al., NeurIPS 2020): labels follow predictions; confident samples count more.

        sum_i w_i L(f(x_i), t_i) / sum_i w_i,    t_i = momentum t_i + (1 - momentum) p_i,    w_i = max_k t_i(k)

    over a batch; t_i starts from the given label, and no gradient flows through it. In the first epochs, training is
    plain. This is CMW-Net-SL with a weight of zero for every given label, so it shows what a learned weight is worth.

    Huang, Zhang, Zhang: Self-Adaptive Training: beyond Empirical Risk Minimization.

    Args:
        start: Share of the epochs with plain training, unless the warm-up is longer. Paper: 60 of 200 epochs.
        momentum: Momentum of the targets. Paper: alpha.
    """

    state = ("_targets", "_plain")

    def __init__(
        self,
        setup: Setup,
        *,
        start: Annotated[float, Ge(0), Le(1)] = 0.3,
        momentum: Annotated[float, Ge(0), Lt(1)] = 0.9,
    ):
        super().__init__(setup)
        self._start = start
        self._targets = predictions(setup.train_set.labels, setup.train_set.num_classes, momentum, setup.device)
        self._plain = True

    def start_epoch(self, epoch: int, warm_up: bool) -> None:
        super().start_epoch(epoch, warm_up)
        self._plain = warm_up or epoch < self._start * self._setup.epochs

    def _loss(self, batch: Batch) -> Tensor:
        if self._plain:
            return super()._loss(batch)
        logits = self._model(batch.inputs)
        targets = self._targets.update(batch.index, logits.detach().softmax(1))
        weights = targets.max(1).values
        return batch.weighted(weights * self._setup.loss(logits, targets)).sum() / weights.sum()
