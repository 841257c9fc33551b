"""Weight nets: from a sample's loss and the family of its class to a weight."""

from collections.abc import Callable
from functools import lru_cache

import torch
from torch import Tensor, nn

FITTING = 600  # steps


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
        for _ in range(FITTING):
            optimizer.zero_grad()
            (fitted(losses, family) - target).square().mean().backward()
            optimizer.step()
    return fitted
