"""CMW-Net with early-learning regularization where a label is not trusted."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from annotated_types import Ge, Lt
from torch import Tensor

from reweigh.core.batch import Batch
from reweigh.core.objective import Objective, instead
from reweigh.core.step import Step
from reweigh.methods.cmw_net import CMWNet
from reweigh.methods.noisy.elr import ELR
from reweigh.methods.setup import Setup


class ELRCMWNet(CMWNet):
    """CMW-Net that holds on to early predictions as far as it does not trust the given label.

    v_i L_i + (1 - v_i) strength log(1 - <p_i, t_i>),    t_i = momentum t_i + (1 - momentum) p_i

    The weight of a sample says how far its label is learned; what is left regularizes, as ``elr`` does for all samples
    alike. Both are linear in the weight, so it is learned as usual. The target t_i is the running average of what was
    predicted before this step; the warm-up, and so the first predictions, are those of ``elr``.

    All options of ``cmw-net`` (weights are shares, so ``normalize`` is "mean"), and:

    Args:
        strength: factor of the regularization, as in ``elr``.
        momentum: momentum of the running average of predictions, as in ``elr``.
        weighting: file of a weighting function learned elsewhere, used as it is.
        convergence: see ``cmw-net``.
    """

    fixed: ClassVar[Mapping[str, Any]] = {"normalize": "mean"}

    def __init__(
        self,
        setup: Setup,
        *,
        strength: Annotated[float, Ge(0)] = 3.0,
        momentum: Annotated[float, Ge(0), Lt(1)] = 0.7,
        weighting: str | None = None,
        convergence: Annotated[int, Ge(0)] = 0,
    ):
        super().__init__(setup, weighting=weighting, convergence=convergence)
        self._plain = self._early = ELR(setup, strength=strength, momentum=momentum)

    def _objective(self, batch: Batch) -> Objective:
        targets = self._early.targets(batch.index)

        def early(logits: Any) -> Tensor:
            return self._early.regularization(logits, targets)

        return instead(self._setup.loss, early, batch.inputs, batch.labels, batch.scale)

    def _train_on(self, batch: Batch, trusted: tuple[Tensor | None, Tensor | None]) -> Step:
        step = super()._train_on(batch, trusted)
        self._early.update(batch.index, step.outputs.detach())
        return step
