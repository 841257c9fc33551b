"""Co-teaching: two networks, each of which chooses the samples that the other one learns from."""

from typing import Annotated

import torch
from annotated_types import Ge, Lt
from torch import Tensor

from reweigh.core.batch import Batch
from reweigh.core.descent import descend
from reweigh.methods.erm import ERM
from reweigh.methods.parts.peer import Peer
from reweigh.methods.parts.ramp import ramp
from reweigh.methods.setup import Setup


class CoTeaching(ERM):
    """Co-teaching (Han et al., NeurIPS 2018): each of two networks learns from samples that the other finds easy.

    From each batch, a network learns the samples for which the other network has the smallest losses; the rest is
    forgotten. In epoch T, counted from 0, the forgotten share is forget_rate min(T / gradual_epochs, 1); it is 0 during
    the warm-up. The first network is evaluated and saved. A step costs twice as much as in plain training.

    Both networks have the same optimizer and schedule. The second starts with the values of the first, shuffled.

    Han, Yao, Yu, Niu, Xu, Hu, Tsang, Sugiyama: Co-teaching: Robust Training of Deep Neural Networks with Extremely
    Noisy Labels.

    Args:
        forget_rate: Share of a batch that is forgotten in the end. Paper: tau, the rate of wrong labels, which the
            paper assumes to be known; the default is a guess.
        gradual_epochs: Number of epochs until this share is reached. Paper: T_k.
        reset: The part of the second network that starts differently: all, last-block, last-layer, or a pattern over
            parameter names; by default all, or last-layer if the model has a start (``model.start``).
    """

    state = ("_peer", "_forgotten", "_weights")

    def __init__(
        self,
        setup: Setup,
        *,
        forget_rate: Annotated[float, Ge(0), Lt(1)] = 0.2,
        gradual_epochs: Annotated[int, Ge(0)] = 10,
        reset: str | None = None,
    ):
        super().__init__(setup)
        self._forget_rate = forget_rate
        self._gradual_epochs = gradual_epochs
        self._peer = Peer(setup, reset)
        self._forgotten = 0.0
        self._weights = torch.full((len(setup.train_set),), float("nan"), device=setup.device)

    def start_epoch(self, epoch: int, warm_up: bool) -> None:
        super().start_epoch(epoch, warm_up)
        self._peer.start_epoch()
        self._forgotten = 0.0 if warm_up else self._forget_rate * ramp("linear", epoch, self._gradual_epochs)

    def step(self, batch: Batch) -> dict[str, float | Tensor]:
        own, theirs = (self._setup.loss(net(batch.inputs), batch.labels) for net in (self._model, self._peer.model))
        for_us, for_them = self._easiest(theirs), self._easiest(own)
        loss = batch.weighted(own)[for_us].mean()
        for optimizer, objective in (
            (self._setup.optimizer, loss),
            (self._peer.optimizer, batch.weighted(theirs)[for_them].mean()),
        ):
            descend(objective, optimizer)
        weights = torch.zeros_like(self._weights[batch.index]).scatter(0, for_us, 1.0)
        self._weights[batch.index] = weights
        return {"loss": loss.detach(), "weight": weights.mean()}

    def _easiest(self, losses: Tensor) -> Tensor:
        """Which samples of the batch are not forgotten, one at least: in order, shape (kept,)."""
        kept = max(len(losses) - round(self._forgotten * len(losses)), 1)
        return losses.detach().argsort(stable=True)[:kept].sort().values

    def sample_weights(self) -> Tensor | None:
        return self._weights.cpu()
