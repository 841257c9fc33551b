"""Weights from a net that learns by its own optimizer."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn.utils import get_total_norm
from torch.optim import Optimizer

from reweigh.weighting.class_aware import ClassAwareNet


class LearnedWeights:
    """A weight net and the optimizer that trains it on the meta gradient.

    Args:
        net: called as ``net(losses, family)``.
        optimizer: over the net's parameters.
    """

    def __init__(self, net: ClassAwareNet, optimizer: Optimizer):
        self.net = net
        self.optimizer = optimizer

    def propose(self, losses: Tensor, family: Tensor) -> Tensor:
        return self.net(losses, family)

    @torch.no_grad()
    def __call__(self, losses: Tensor, family: Tensor) -> Tensor:
        return self.net(losses, family)

    def learn(self, weights: Tensor, gradient: Tensor, reduce: Callable[[list[Tensor]], None]) -> Tensor:
        self.optimizer.zero_grad()
        weights.backward(gradient)
        gradients = [p.grad for p in self.net.parameters() if p.grad is not None]
        reduce(gradients)
        self.optimizer.step()
        return get_total_norm(gradients)

    def state_dict(self) -> dict[str, Any]:
        return {"net": self.net.state_dict(), "optimizer": self.optimizer.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.net.load_state_dict(state["net"])
        self.optimizer.load_state_dict(state["optimizer"])
