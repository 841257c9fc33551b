"""Which classes share a weighting curve."""

from typing import NamedTuple

import torch
from torch import Tensor


class Families(NamedTuple):
    """Which classes share a curve.

    Attributes:
        of_class: shape (num_classes,), the family of each class; 0 is the rarest.
        centers: shape (num_families,), the mean class size of each family, ascending. Paper: mu_k.
    """

    of_class: Tensor
    centers: Tensor

    @property
    def num_families(self) -> int:
        return len(self.centers)

    def curves(self, num_curves: int) -> Tensor:
        """Which of ``num_curves`` curves each family uses, shape (num_families,).

        They are matched by rank: the rarest classes use the first curve and the largest the last. A single family, of
        classes that all have one size, uses the curve in the middle.
        """
        if self.num_families == 1:
            return torch.tensor([round((num_curves - 1) / 2)])
        return torch.linspace(0, num_curves - 1, self.num_families).round().long()
