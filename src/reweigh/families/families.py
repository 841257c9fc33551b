"""Which classes share a weighting curve."""

from typing import NamedTuple

import torch
from torch import Tensor

DIFFERENT = 1.5


def sizes_differ(class_sizes: Tensor) -> bool:
    """Whether the largest class has 1.5 times the samples of the smallest; closer sizes may well differ by chance.

    Args:
        class_sizes: shape (num_classes,); classes without samples do not count.
    """
    sizes = class_sizes[class_sizes > 0]
    return len(sizes) > 0 and float(sizes.max()) >= DIFFERENT * float(sizes.min())


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
