"""Two networks that are trained together and predict together."""

from collections.abc import Mapping

from torch import Tensor, nn

from reweigh.core.batch import Batch
from reweigh.core.descent import descend
from reweigh.methods.erm import ERM
from reweigh.methods.parts.peer import Peer
from reweigh.methods.setup import Setup
from reweigh.models.ensemble import Ensemble


class TwoNetworks(ERM):
    """What DivideMix, ELR+ and decoupling share: a step trains one network after the other; the mean of both predicts.

    Args:
        reset: Part of the second network that starts differently; see ``Peer``.
    """

    state = ("_peer",)

    @staticmethod
    def wraps(model: nn.Module) -> nn.Module:
        return Ensemble.of(model, 2)

    def __init__(self, setup: Setup, reset: str | None):
        super().__init__(setup)
        self._peer = Peer(setup, reset)
        self._both = self._peer.together(setup.model)

    @property
    def model(self) -> nn.Module:
        return self._both

    def start_epoch(self, epoch: int, warm_up: bool) -> None:
        super().start_epoch(epoch, warm_up)
        self._peer.start_epoch()

    def step(self, batch: Batch) -> Mapping[str, float | Tensor]:
        losses = []
        pairs = ((self._model, self._optimizer), (self._peer.model, self._peer.optimizer))
        for number, (model, optimizer) in enumerate(pairs):
            loss = self._loss_of(number, model, batch)
            descend(loss, optimizer)
            self._after_step(number, model)
            losses.append(loss.detach())
        return {"loss": sum(losses) / 2}

    def _loss_of(self, number: int, model: nn.Module, batch: Batch) -> Tensor:
        """The loss that one of the networks, number 0 or 1, minimizes; a scalar."""
        raise NotImplementedError

    def _after_step(self, number: int, model: nn.Module) -> None:
        """Called after a network was trained on a batch."""
