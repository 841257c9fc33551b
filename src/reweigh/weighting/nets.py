"""Weight nets, from the loss of a sample and the family of its class to a weight; and how they are learned."""

from collections.abc import Callable
from contextlib import nullcontext
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Adam, Optimizer

from reweigh.core.fast import can_fuse
from reweigh.core.processes import Reduce
from reweigh.core.update import norm
from reweigh.core.weigher import Weigher
from reweigh.errors import ModelError

FITTING_STEPS = 600  # steps


class WeightNet(nn.Module):
    """A weighting function: made from (number of families, width), called as (losses, family).

    It need not be of this class: any module that is made and called in this way can be a member of ``WEIGHTINGS``.

    Attributes:
        num_families: Number of curves; 0 if weights are not a function of loss and family.
        width: Width of the hidden layer.
        unit: Unit of losses; they are divided by it before the net reads them.
    """

    num_families: int = 0
    width: int = 0
    unit: float = 1.0

    def forward(self, losses: Tensor, family: Tensor) -> Tensor:
        """Weights in (0, 1), all of shape (n,)."""
        raise NotImplementedError


def num_curves(net: nn.Module | None, otherwise: int = 0) -> int:
    """How many families a weighting function distinguishes; ``otherwise`` if that is unknown."""
    return int(getattr(net, "num_families", 0)) or otherwise


class ClassAwareNet(WeightNet):
    """One hidden layer and one head for each family: CMW-Net, or MW-Net if there is a single family.

        V(L, N) = sigmoid( heads( relu( hidden(L / unit) ) ) )[family of N]            (paper Eq. 4, unit 1)

    Examples:
        >>> net = ClassAwareNet(num_families=3)
        >>> losses, family = torch.rand(5), torch.tensor([0, 0, 1, 2, 2])
        >>> net(losses, family).shape
        torch.Size([5])
        >>> [tuple(each.shape) for each in net.parameters()]
        [(100, 1), (100,), (3, 100), (3,)]

    Args:
        num_families: Number of heads; family 0 holds the rarest classes. Paper: K.
        hidden: Width of the hidden layer. Paper: 100.
    """

    def __init__(self, num_families: int, hidden: int = 100):
        super().__init__()
        self.num_families, self.width = num_families, hidden
        self.hidden = nn.Linear(1, hidden)
        self.heads = nn.Linear(hidden, num_families)

    @classmethod
    def following(cls, curve: Callable[[Tensor], Tensor], points: Tensor, num_families: int) -> "ClassAwareNet":
        """A net that starts from a known curve in every family, by least squares; the result is deterministic.

        Args:
            curve: Losses -> weights in (0, 1).
            points: Shape (n,), losses at which the curve is fitted.
        """
        fitted = _fitted(tuple(points.tolist()), tuple(curve(points).tolist()), torch.get_default_dtype())
        with torch.random.fork_rng(devices=[]):
            net = cls(num_families)
        with torch.no_grad():
            net.hidden.load_state_dict(fitted.hidden.state_dict())
            net.heads.weight.copy_(fitted.heads.weight.expand_as(net.heads.weight))
            net.heads.bias.copy_(fitted.heads.bias.expand_as(net.heads.bias))
        return net

    def forward(self, losses: Tensor, family: Tensor) -> Tensor:
        """Weights in (0, 1).

        Args:
            losses: Shape (n,), losses as they are. Paper: L.
            family: Shape (n,), integers below ``num_families``.
        """
        # a product with a single input needs no matrix product; in place, because every training step waits for this
        first, last = self.hidden, self.heads
        scale = first.weight.view(1, -1)
        read = losses.to(scale.dtype) if self.unit == 1 else losses.to(scale.dtype) / self.unit
        hidden = torch.addcmul(first.bias, read.unsqueeze(1), scale).relu_()
        each = torch.addmm(last.bias, hidden, last.weight.t())
        return each.gather(1, family.unsqueeze(1)).squeeze_(1).sigmoid_()


@lru_cache(maxsize=8)
def _fitted(points: tuple[float, ...], weights: tuple[float, ...], dtype: torch.dtype) -> ClassAwareNet:
    """A net of one family that gives these weights to these losses; fitted once, because it is the same every time."""
    losses, target = torch.tensor(points, dtype=dtype), torch.tensor(weights, dtype=dtype)
    with torch.random.fork_rng(devices=[]), torch.enable_grad():
        torch.manual_seed(0)
        fitted, family = ClassAwareNet(1), torch.zeros(len(points), dtype=torch.int64)
        optimizer = torch.optim.Adam(fitted.parameters(), 1e-2)
        for _ in range(FITTING_STEPS):
            optimizer.zero_grad()
            (fitted(losses, family) - target).square().mean().backward()
            optimizer.step()
    return fitted


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
