"""Plain training: all samples count the same; also with another loss, such as focal or class-balanced."""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, ClassVar

from torch import Tensor, nn
from torch.optim import Optimizer

from reweigh.core.method import Method, Stateful
from reweigh.core.objective import Batch, MetaObjective, Objective, reweighted
from reweigh.losses import LOSSES
from reweigh.methods.setup import Setup, keyword_only


@dataclass(eq=False, repr=False)
class ERM(Stateful, Method):
    """Plain training (empirical risk minimization): the mean loss, without weights.

    Options of a method are keyword-only fields of a dataclass; a method that extends another one inherits them.

    Attributes:
        deep: Whether weights on top of this method (``on_top_of``) act through layers below the last one, so that the
            look-ahead has to move these layers.
        replaces_labels: Whether its ``objective`` uses other labels than the given ones.
        losses: Shape (n,), losses of the samples in the last step; None if a subclass minimizes something else.
    """

    deep: ClassVar[bool] = False
    replaces_labels: ClassVar[bool] = False
    state = ("_model", "_optimizer")

    setup: Setup

    def __post_init__(self) -> None:
        self._model, self._optimizer = self.setup.model, self.setup.optimizer
        self._warm_up = False
        self.losses: Tensor | None = None

    @property
    def model(self) -> nn.Module:
        return self._model

    def start_epoch(self, epoch: int, warm_up: bool) -> None:
        self._model.train()
        self._warm_up = warm_up

    def step(self, batch: Batch) -> Mapping[str, float | Tensor]:
        loss = self._loss(batch)
        descend(loss, self._optimizer)
        return {"loss": loss.detach()}

    def _loss(self, batch: Batch) -> Tensor:
        """What a step minimizes, a scalar; overridden by methods whose loss depends on more than the batch."""
        terms = self.objective(batch)(self._model)
        self.losses = terms.losses.detach()
        self.follow(batch, terms.outputs)
        return terms.coefficients.mean() + terms.rest

    def objective(self, batch: Batch) -> Objective:
        """The loss of each sample, which can be weighted, and the terms that are not weighted; see ``on_top_of``."""
        return reweighted(self.setup.loss, batch.inputs, batch.labels, batch.scale)

    def follow(self, batch: Batch, outputs: Any) -> None:
        """Record the outputs of the model in a step, with or without weights on top."""

    @property
    def weighs(self) -> bool:
        """Whether weights on top of this method are used in this epoch."""
        return True

    def trusted_objective(self, inputs: Any, labels: Tensor) -> MetaObjective | None:
        """What weights on top should lower for trusted samples; None stands for their mean loss."""
        return None

    def trained(self, setup: Setup) -> Setup:
        """The setup with the model that this method trains, which may differ from the one that it was given."""
        return setup if setup.model is self._model else replace(setup, model=self._model)

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        self._model.train()  # start_epoch is not called again for an epoch that is resumed in its middle


class Weighing(ERM):
    """Plain training in whose step samples have weights, which a subclass notes in ``_weights``, shape (N,)."""

    state = ("_weights",)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._weights = self.setup.never_weighed()

    def sample_weights(self) -> Tensor | None:
        return self._weights.cpu()


class OwnLoss(ERM):
    """What these methods share; ``training_with`` makes them."""

    def __init__(self, setup: Setup, **options: Any):
        assert self.own_loss is not None
        super().__init__(setup.with_loss(self.own_loss, **options))


@cache
def training_with(loss: str) -> type[ERM]:
    """The method that is plain training with a member of ``LOSSES``; it has the options of the loss."""
    setup = inspect.signature(OwnLoss).parameters["setup"]
    attributes = {
        "__doc__": inspect.getdoc(LOSSES[loss]),
        "__module__": __name__,
        "__signature__": inspect.Signature([setup, *keyword_only(LOSSES[loss]).values()]),
        "own_loss": loss,
    }
    return type(loss.title().replace("-", ""), (OwnLoss,), attributes)


def descend(loss: Tensor, *optimizers: Optimizer) -> None:
    """One step of each optimizer, along the gradient of the loss."""
    for optimizer in optimizers:
        optimizer.zero_grad()
    loss.backward()
    for optimizer in optimizers:
        optimizer.step()
