"""A network in training with its optimizer, and the average of it along the way."""

from math import cos, pi
from typing import Any

from torch import Tensor, nn
from torch.optim import Optimizer

from reweigh.core.descent import descend
from reweigh.methods.parts.stateful import Stateful
from reweigh.pseudo_labels import AveragedModel


class Student(Stateful):
    """Trains a network at a rate that falls along half a cosine, and averages it over about one epoch.

    Args:
        optimizer: trains the network; its rates now are those at the start.
        average: Average of the network. Its state is saved by its owner.
    """

    state = ("model", "optimizer", "_rates")

    def __init__(self, model: nn.Module, optimizer: Optimizer, average: AveragedModel):
        self.model = model
        self._average = average
        self.optimizer = optimizer
        self._rates = [float(group["lr"]) for group in optimizer.param_groups]

    @property
    def rate(self) -> float:
        """The learning rate of the latest step."""
        return self.optimizer.param_groups[0]["lr"]

    def step(self, loss: Tensor, progress: float, share: float) -> None:
        """Descend a loss, a scalar.

        Args:
            progress: how far the training is: the rate is full at 0, and zero at 1.
            share: share of an epoch that the step is.
        """
        self.slow_down(progress)
        descend(loss, self.optimizer)
        self.follow(share)

    def slow_down(self, progress: float) -> None:
        """Set the rate of the coming step; see ``step``."""
        for group, rate in zip(self.optimizer.param_groups, self._rates, strict=True):
            group["lr"] = rate * (1 + cos(pi * progress)) / 2

    def follow(self, share: float) -> None:
        """Let the average follow a step; see ``step``."""
        self._average.decay = 1 - min(share, 1.0)
        self._average.update(self.model)

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        self.model.train()
