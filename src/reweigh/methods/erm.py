"""Plain training: every sample counts the same."""

from typing import Any

from torch import Tensor, nn

from reweigh.core.batch import Batch
from reweigh.methods.setup import Setup


class ERM:
    """Empirical risk minimization: the mean loss, no weights. What everything else is compared with.

    Attributes:
        losses: shape (n,), of the samples of the last step; None where the loss of a rival is no sum over samples.
    """

    def __init__(self, setup: Setup):
        self._setup = setup
        self._model = setup.model
        self.losses: Tensor | None = None

    @property
    def model(self) -> nn.Module:
        return self._model

    def start_epoch(self, epoch: int, warm_up: bool) -> None:
        self._model.train()

    def step(self, batch: Batch) -> dict[str, float]:
        optimizer = self._setup.optimizer
        optimizer.zero_grad()
        loss = self._loss(batch)
        loss.backward()
        optimizer.step()
        return {"loss": loss.item()}

    def _loss(self, batch: Batch) -> Tensor:
        """What a step descends, a scalar; a rival that trains plainly but for its loss has its own."""
        losses = self._setup.loss(self._model(batch.inputs), batch.labels)
        self.losses = losses.detach()
        return batch.weighted(losses).mean()

    def sample_weights(self) -> Tensor | None:
        return None

    def weighting(self) -> nn.Module | None:
        return None

    def state_dict(self) -> dict[str, Any]:
        return {"model": self._model.state_dict(), "optimizer": self._setup.optimizer.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._model.load_state_dict(state["model"])
        self._setup.optimizer.load_state_dict(state["optimizer"])
        self._model.train()  # an epoch that goes on does not start
