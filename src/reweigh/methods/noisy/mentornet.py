"""MentorNet's predefined curriculum: the loss that decides what is easy follows a percentile along training."""

from typing import Annotated

import torch
from annotated_types import Ge, Gt, Le, Lt
from torch import Tensor

from reweigh.core.batch import Batch
from reweigh.methods.erm import ERM
from reweigh.methods.setup import Setup


class MentorNet(ERM):
    """The predefined curriculum of MentorNet (Jiang et al., ICML 2018): samples with a large loss count less.

        v_i = clip(1 - (L_i - bar) / slack, 0, 1)        1 where L_i <= bar

    The bar is a moving average of a percentile of the losses in a batch. Without slack, a sample counts fully or not at
    all. During the warm-up, all samples count fully. The paper also learns a curriculum with a network that is trained
    on clean data; for that, use MW-Net or CMW-Net.

    Jiang, Zhou, Leung, Li, Fei-Fei: MentorNet: Learning Data-Driven Curriculum for Very Deep Neural Networks on
    Corrupted Labels.

    Args:
        percentile: Share of a batch that counts fully. The paper chooses it by the rate of wrong labels, which is not
            known here; 0.75.
        decay: Decay of the moving average of the bar.
        slack: Distance above the bar at which the weight reaches zero. Paper: lambda_2.
    """

    state = ("_bar", "_warm_up", "_weights")

    def __init__(
        self,
        setup: Setup,
        *,
        percentile: Annotated[float, Gt(0), Le(1)] = 0.75,
        decay: Annotated[float, Ge(0), Lt(1)] = 0.95,
        slack: Annotated[float, Ge(0)] = 0.0,
    ):
        super().__init__(setup)
        self._percentile, self._decay, self._slack = percentile, decay, slack
        self._bar: Tensor | None = None
        self._warm_up = False
        self._weights = torch.full((len(setup.train_set),), float("nan"), device=setup.device)

    def start_epoch(self, epoch: int, warm_up: bool) -> None:
        super().start_epoch(epoch, warm_up)
        self._warm_up = warm_up

    def _loss(self, batch: Batch) -> Tensor:
        losses = self._setup.loss(self._model(batch.inputs), batch.labels)
        self.losses = losses.detach()
        latest = self.losses.double().quantile(self._percentile)
        self._bar = latest if self._bar is None else self._decay * self._bar + (1 - self._decay) * latest
        if self._warm_up:
            return batch.weighted(losses).mean()
        weights = eased(self.losses, self._bar, self._slack)
        self._weights[batch.index] = weights.to(self._weights)
        return batch.weighted(weights * losses).mean()

    def sample_weights(self) -> Tensor | None:
        return self._weights.cpu()


def eased(losses: Tensor, bar: Tensor | float, slack: float) -> Tensor:
    """The weight of each loss, shape (n,): 1 up to the bar, falling to 0 over the slack."""
    if slack == 0:
        return (losses <= bar).to(losses.dtype)
    return (1 - (losses - bar) / slack).clamp(0, 1).to(losses.dtype)
