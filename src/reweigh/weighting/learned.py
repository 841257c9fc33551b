"""How weights are learned: by a net that its own optimizer trains, or as free numbers for every batch (L2RW)."""

from contextlib import nullcontext
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Adam, Optimizer

from reweigh.core.fast import can_fuse
from reweigh.core.processes import Reduce
from reweigh.core.step import Weigher
from reweigh.core.update import norm
from reweigh.errors import ModelError
from reweigh.weighting.class_aware import WeightNet


class LearnedWeights:
    """A weight net and the optimizer that trains it on the meta gradient.

    Args:
        net: weight net, called as ``net(losses, family)``; returns weights in (0, 1).
        optimizer: optimizer of the net's parameters; None if the net was learned elsewhere and stays as it is.
    """

    remembers = True

    def __init__(self, net: nn.Module, optimizer: Optimizer | None):
        self.net = net
        self.optimizer = optimizer
        self.learns = optimizer is not None
        self._params = list(net.parameters())

    def propose(self, losses: Tensor, family: Tensor) -> Tensor:
        device = losses.device.type  # so small a net gains nothing from half precision
        with torch.autocast(device, enabled=False) if torch.is_autocast_enabled(device) else nullcontext():
            weights = self.net(losses.to(self._params[0].dtype) if self._params else losses, family)
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
        params = [p for p in self._params if p.requires_grad]
        found = torch.autograd.grad(weights, params, gradient, allow_unused=True)
        for param, grad in zip(params, found, strict=True):
            param.grad = grad
        gradients = [grad for grad in found if grad is not None]
        reduce(gradients)
        self.optimizer.step()
        return norm(gradients)

    def state_dict(self) -> dict[str, Any]:
        net = {"net": self.net.state_dict()}
        return net if self.optimizer is None else {**net, "optimizer": self.optimizer.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.net.load_state_dict(state["net"])
        if self.optimizer is not None:
            self.optimizer.load_state_dict(state["optimizer"])


def weigher(net: nn.Module, lr: float, weight_decay: float, amsgrad: bool = False) -> Weigher:
    """What trains the net: the net itself if it can, or else Adam on the parameters that require gradients."""
    if isinstance(net, Weigher):
        return net
    params = [p for p in net.parameters() if p.requires_grad]
    options = {"weight_decay": weight_decay, "amsgrad": amsgrad, "fused": can_fuse(params)}
    return LearnedWeights(net, Adam(params, lr, **options) if params else None)


class FreeWeights(WeightNet):
    """No net (L2RW): start the weights of a batch at zero, take one step down the meta loss, clip and renormalize.

        v_i = max(0, -d meta / d v_i at 0),   then scaled to a mean of one

    Nothing is kept from one batch to the next, and a batch for which no weights were computed counts fully. Ren et al.,
    ICML 2018.

    Examples:
        >>> free = FreeWeights()
        >>> free(torch.rand(3), torch.zeros(3, dtype=torch.int64))  # a batch for which nothing was computed
        tensor([1., 1., 1.])
    """

    learns, remembers = True, False

    def __init__(self, *_: int):
        super().__init__()
        self._found = torch.empty(0)

    def propose(self, losses: Tensor, family: Tensor) -> Tensor:
        return torch.zeros_like(losses, requires_grad=True)

    def forward(self, losses: Tensor, family: Tensor) -> Tensor:
        found, self._found = self._found, torch.empty(0)
        return found if len(found) else torch.ones_like(losses)

    def learn(self, weights: Tensor, gradient: Tensor, reduce: Reduce) -> Tensor:
        clipped = (-gradient).clamp_min(0)
        count, total = torch.tensor(float(len(clipped))).to(clipped), clipped.sum()
        reduce([count, total])
        self._found = clipped * (count / total.clamp_min(1e-30))
        return gradient.norm()
