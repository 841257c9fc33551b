"""A network in training, with its optimizer and its moving average."""

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
        optimizer: optimizer of the network; its current learning rates are those of the start.
        average: average of the network. Its owner saves its state.
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
        """Take a step that lowers the loss, a scalar.

        Args:
            progress: progress of the training: the learning rate is full at 0, and zero at 1.
            share: size of the step as a share of an epoch.
        """
        self.slow_down(progress)
        descend(loss, self.optimizer)
        self.follow(share)

    def slow_down(self, progress: float) -> None:
        """Set the learning rate of the next step; see ``step``."""
        for group, rate in zip(self.optimizer.param_groups, self._rates, strict=True):
            group["lr"] = rate * (1 + cos(pi * progress)) / 2

    def follow(self, share: float) -> None:
        """Update the average after a step; see ``step``."""
        self._average.decay = 1 - min(share, 1.0)
        self._average.update(self.model)

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        self.model.train()
