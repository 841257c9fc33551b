"""The weight net: from a sample's loss and the family of its class to a weight."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from reweigh.weighting.net import WeightNet


class ClassAwareNet(WeightNet):
    """One hidden layer read by one head for each family; CMW-Net, and MW-Net where there is a single family.

        V(L, N) = sigmoid( heads( relu( hidden(L) ) ) )[family of N]            (paper Eq. 4)

    Args:
        num_families: number of heads; family 0 holds the rarest classes. Paper: K.
        hidden: width of the hidden layer; the paper's is 100.
    """

    def __init__(self, num_families: int, hidden: int = 100):
        super().__init__()
        self.num_families, self.width = num_families, hidden
        self.hidden = nn.Linear(1, hidden)
        self.heads = nn.Linear(hidden, num_families)

    @classmethod
    def following(cls, curve: Callable[[Tensor], Tensor], points: Tensor, num_families: int) -> "ClassAwareNet":
        """A net that starts from a known curve in every family: linear between points, on the scale of logits.

        Each hidden unit begins at a point, relu(L - point), and its head bends the line there.

        Args:
            curve: losses -> weights in (0, 1).
            points: shape (hidden + 1,), ascending losses; beyond the last one the line goes on.
        """
        net = cls(num_families, len(points) - 1)
        logits = torch.logit(curve(points.double()))
        slopes = logits.diff() / points.double().diff()
        with torch.no_grad():
            net.hidden.weight.fill_(1.0)
            net.hidden.bias.copy_(-points[:-1])
            net.heads.weight.copy_(slopes.diff(prepend=slopes.new_zeros(1)).expand_as(net.heads.weight))
            net.heads.bias.fill_(float(logits[0]))
        return net

    def forward(self, losses: Tensor, family: Tensor) -> Tensor:
        """Weights in (0, 1).

        Args:
            losses: shape (n,), raw. Paper: L.
            family: shape (n,), integers below ``num_families``.
        """
        each = self.heads(torch.relu(self.hidden(losses.to(self.hidden.weight.dtype).unsqueeze(1))))
        return torch.sigmoid(each.gather(1, family.unsqueeze(1)).squeeze(1))
