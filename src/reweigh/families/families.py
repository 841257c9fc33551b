"""Which classes share a weighting curve."""

from typing import NamedTuple

import torch
from torch import Tensor

DIFFERENT = 1.5
BEYOND_CHANCE = 3.0  # standard deviations


def sizes_differ(class_sizes: Tensor) -> bool:
    """Whether the largest class has 1.5 times the samples of the smallest, and chance cannot explain it.

    Chance explains the sizes of samples drawn from equally frequent classes: their chi-square has the mean k = number
    of classes - 1 and the variance 2 k, and differs from the mean by at most three standard deviations.

    Args:
        class_sizes: shape (num_classes,); classes without samples do not count.
    """
    sizes = class_sizes[class_sizes > 0].double()
    if len(sizes) < 2 or float(sizes.max()) < DIFFERENT * float(sizes.min()):
        return False
    mean, degrees = sizes.mean(), len(sizes) - 1
    return float((sizes - mean).square().sum() / mean) > degrees + BEYOND_CHANCE * (2 * degrees) ** 0.5


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
