"""What a weighting function is."""

from torch import Tensor, nn


class WeightNet(nn.Module):
    """A member of ``WEIGHTINGS``: made from (number of families, width), both of which it remembers.

    Any other module that can be called in the same way will do in a ``Reweighter``.

    Attributes:
        num_families: number of curves; 0 if weights are not a function of loss and family.
        width: size of its hidden layer.
    """

    num_families: int = 0
    width: int = 0

    def forward(self, losses: Tensor, family: Tensor) -> Tensor:
        """Weights in (0, 1), all of shape (n,)."""
        raise NotImplementedError


def num_curves(net: nn.Module | None, otherwise: int = 0) -> int:
    """How many families a weighting function tells apart; ``otherwise`` if it does not say."""
    return int(getattr(net, "num_families", 0)) or otherwise
