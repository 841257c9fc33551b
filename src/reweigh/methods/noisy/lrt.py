"""LRT: a likelihood ratio test decides which labels are replaced; it becomes stricter with time."""

from typing import Annotated

from annotated_types import Ge, Gt
from torch import Tensor

from reweigh.core.batch import Batch
from reweigh.core.objective import Forward, Objective, Terms
from reweigh.methods.noisy.plc import progressed
from reweigh.methods.noisy.relabeling import Relabeling
from reweigh.methods.setup import Setup

STRICTER = 0.02  # by how much the ratio rises in each epoch
REMEMBERED = 40  # epochs after which the labels of the second loss are updated


class LRT(Relabeling):
    """Likelihood ratio test, or AdaCorr (Zheng et al., ICML 2020): replace a label if another class passes the test.

        replace y_i by arg max f_i    if  max f_i / f_i[y_i] > ratio + 0.02 t

    f is the mean prediction of the last epochs, and t counts the epochs since the warm-up (paper: 30 of 180 epochs). A
    second loss uses the labels from when correction began (updated every 40 epochs) and keeps training near them. The
    released code uses a matrix of N x num_classes x num_classes numbers for this.

    Zheng, Wu, Goswami, Goswami, Metaxas, Chen: Error-Bounded Correction of Noisy Labels. Left out: its labels of 0.99
    and 0.01, and a new optimizer in each epoch.

    Args:
        ratio: Ratio of likelihoods above which a label is replaced at first. Paper: 1.2; delta.
        window: Number of epochs whose predictions are averaged.
        retroactive: Factor of the second loss. Released code: 0.9.
    """

    state = ("_before",)

    def __init__(
        self,
        setup: Setup,
        *,
        ratio: Annotated[float, Gt(1)] = 1.2,
        window: Annotated[int, Ge(1)] = 10,
        retroactive: Annotated[float, Ge(0)] = 0.9,
    ):
        super().__init__(setup, window)
        self._ratio = ratio
        self._retroactive = retroactive
        self._before: Tensor | None = None

    def _reconsidered(self, believed: Tensor) -> Tensor:
        if self._rounds % REMEMBERED == 0:
            self._before = self.labels.clone()
        return progressed(self.labels, believed, 1 / (self._ratio + STRICTER * (self._rounds + 1)))

    def objective(self, batch: Batch) -> Objective:
        inner = super().objective(batch)
        if self._before is None or not self._retroactive:
            return inner
        before = self._before[batch.index].to(batch.inputs.device)

        def both(forward: Forward) -> Terms:
            terms = inner(forward)
            second = batch.weighted(self._setup.loss(terms.outputs, before)).mean()
            return terms._replace(rest=terms.rest + self._retroactive * second)

        return both
