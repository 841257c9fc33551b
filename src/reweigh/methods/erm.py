"""Plain training: every sample counts the same."""

from typing import Any

from torch import Tensor, nn

from reweigh.core.batch import Batch
from reweigh.core.method import Method
from reweigh.methods.setup import Setup


class ERM(Method):
    """Empirical risk minimization: the mean loss, no weights. The baseline of every comparison.

    Attributes:
        losses: shape (n,), losses of the samples in the last step; None if a subclass minimizes something else.
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
        """What a step minimizes, a scalar; methods that differ from plain training in the loss alone override this."""
        losses = self._setup.loss(self._model(batch.inputs), batch.labels)
        self.losses = losses.detach()
        return batch.weighted(losses).mean()

    def state_dict(self) -> dict[str, Any]:
        return {"model": self._model.state_dict(), "optimizer": self._setup.optimizer.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._model.load_state_dict(state["model"])
        self._setup.optimizer.load_state_dict(state["optimizer"])
        self._model.train()  # start_epoch is not called again for an epoch that is resumed in its middle
