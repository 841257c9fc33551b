"""The weight net: from a sample's loss and the family of its class to a weight."""

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

    def forward(self, losses: Tensor, family: Tensor) -> Tensor:
        """Weights in (0, 1).

        Args:
            losses: shape (n,), raw. Paper: L.
            family: shape (n,), integers below ``num_families``.
        """
        each = self.heads(torch.relu(self.hidden(losses.to(self.hidden.weight.dtype).unsqueeze(1))))
        return torch.sigmoid(each.gather(1, family.unsqueeze(1)).squeeze(1))
