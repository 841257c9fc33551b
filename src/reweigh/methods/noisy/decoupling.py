"""Decoupling: two networks, which learn only from samples that they predict differently."""

from torch import Tensor

from reweigh.core.batch import Batch
from reweigh.core.descent import descend
from reweigh.methods.noisy.two_networks import TwoNetworks
from reweigh.methods.setup import Setup


class Decoupling(TwoNetworks):
    """Decoupling (Malach and Shalev-Shwartz, NeurIPS 2017): two networks learn from samples on which they disagree.

    Two networks learn from the samples of a batch for which their predictions differ; if they agree on the whole batch,
    they learn nothing from it. During the warm-up, both learn from all samples. The prediction is the mean of both. A
    step costs twice as much as in plain training.

    Malach, Shalev-Shwartz: Decoupling "When to Update" from "How to Update".

    Args:
        reset: The part of the second network that starts differently: all, last-block, last-layer, or a pattern over
            parameter names; by default all, or last-layer if the model has a start (``model.start``).
    """

    state = ("_warm_up",)

    def __init__(self, setup: Setup, *, reset: str | None = None):
        super().__init__(setup, reset)
        self._warm_up = False

    def start_epoch(self, epoch: int, warm_up: bool) -> None:
        super().start_epoch(epoch, warm_up)
        self._warm_up = warm_up

    def step(self, batch: Batch) -> dict[str, float | Tensor]:
        own, theirs = self._model(batch.inputs), self._peer.model(batch.inputs)
        differ = (own.argmax(1) != theirs.argmax(1)) | self._warm_up
        any_differs, total = bool(differ.any()), 0.0
        for logits, optimizer in ((own, self._setup.optimizer), (theirs, self._peer.optimizer)):
            losses = batch.weighted(self._setup.loss(logits, batch.labels)) * differ
            loss = losses.sum() / differ.sum().clamp_min(1)
            if any_differs:
                descend(loss, optimizer)
            total = total + loss.detach() / 2
        return {"loss": total, "weight": differ.float().mean()}
