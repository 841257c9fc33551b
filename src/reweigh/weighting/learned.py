"""Weights from a net that learns by its own optimizer, or that was learned elsewhere."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils import get_total_norm
from torch.optim import Adam, Optimizer

from reweigh.core.processes import Reduce
from reweigh.core.step import Weigher
from reweigh.errors import ModelError


class LearnedWeights:
    """A weight net and the optimizer that trains it on the meta gradient.

    Args:
        net: called as ``net(losses, family)``; returns weights in (0, 1).
        optimizer: over the net's parameters; None if the net was learned elsewhere and stays as it is.
    """

    remembers = True

    def __init__(self, net: nn.Module, optimizer: Optimizer | None):
        self.net = net
        self.optimizer = optimizer
        self.learns = optimizer is not None

    def propose(self, losses: Tensor, family: Tensor) -> Tensor:
        kind = next((p.dtype for p in self.net.parameters()), losses.dtype)
        with torch.autocast(losses.device.type, enabled=False):  # so small a net gains nothing from half precision
            weights = self.net(losses.to(kind), family)
        if weights.shape != losses.shape:
            raise ModelError(
                f"the weight net returned shape {tuple(weights.shape)} for {len(losses)} losses; it should return one "
                f"weight per loss, shape ({len(losses)},)"
            )
        return weights

    @torch.no_grad()
    def __call__(self, losses: Tensor, family: Tensor) -> Tensor:
        return self.propose(losses, family)

    def learn(self, weights: Tensor, gradient: Tensor, reduce: Reduce) -> Tensor:
        if self.optimizer is None:
            raise RuntimeError("a frozen weighting function does not learn")
        self.optimizer.zero_grad()
        weights.backward(gradient)
        gradients = [p.grad for p in self.net.parameters() if p.grad is not None]
        reduce(gradients)
        self.optimizer.step()
        return get_total_norm(gradients)

    def state_dict(self) -> dict[str, Any]:
        net = {"net": self.net.state_dict()}
        return net if self.optimizer is None else {**net, "optimizer": self.optimizer.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.net.load_state_dict(state["net"])
        if self.optimizer is not None:
            self.optimizer.load_state_dict(state["optimizer"])


def weigher(net: nn.Module, lr: float, weight_decay: float, amsgrad: bool = False) -> Weigher:
    """What learns: the net itself if it has a way of its own, or else Adam on the parameters that may change."""
    if isinstance(net, Weigher):
        return net
    params = [p for p in net.parameters() if p.requires_grad]
    return LearnedWeights(net, Adam(params, lr, weight_decay=weight_decay, amsgrad=amsgrad) if params else None)
