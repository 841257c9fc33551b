"""Which classes share a weighting curve: families of classes of similar size."""

import logging
from typing import NamedTuple

import torch
from torch import Tensor

from reweigh.names import plural

MIN_SIZE_RATIO = 1.5  # of the largest class to the smallest
MAX_CHANCE_DEVIATIONS = 3.0  # standard deviations of the chi-square
logger = logging.getLogger(__name__)


def sizes_differ(class_sizes: Tensor) -> bool:
    """Whether the largest class has 1.5 times the samples of the smallest, and chance cannot explain it.

    If classes are equally frequent, the chi-square of their sizes has the mean k = number of classes - 1 and the
    variance 2 k. Chance explains a difference from the mean of at most three standard deviations.

    Args:
        class_sizes: Shape (num_classes,), number of samples of each class; empty classes do not count.
    """
    sizes = class_sizes[class_sizes > 0].double()
    if len(sizes) < 2 or float(sizes.max()) < MIN_SIZE_RATIO * float(sizes.min()):
        return False
    mean, degrees = sizes.mean(), len(sizes) - 1
    return float((sizes - mean).square().sum() / mean) > degrees + MAX_CHANCE_DEVIATIONS * (2 * degrees) ** 0.5


class Families(NamedTuple):
    """Which classes share a curve.

    Attributes:
        of_class: Shape (num_classes,), family of each class; 0 is the rarest.
        centers: Shape (num_families,), mean class size of each family, ascending. Paper: mu_k.
    """

    of_class: Tensor
    centers: Tensor

    @property
    def num_families(self) -> int:
        return len(self.centers)

    def curves(self, num_curves: int) -> Tensor:
        """Which of ``num_curves`` curves each family uses, shape (num_families,).

        They are matched by rank: the rarest classes use the first curve, and the largest use the last. A single family,
        whose classes all have the same size, uses the middle curve.
        """
        if self.num_families == 1:
            return torch.tensor([round((num_curves - 1) / 2)])
        return torch.linspace(0, num_curves - 1, self.num_families).round().long()


def by_size(class_sizes: Tensor, num_families: int) -> Families:
    """K-means on class sizes, solved exactly; family 0 holds the rarest classes.

    Examples:
        >>> by_size(torch.tensor([500, 5, 40, 480, 6]), num_families=3).of_class
        tensor([2, 0, 1, 2, 0])

    Args:
        class_sizes: Number of samples of each class by given label, shape (num_classes,). Paper: N_i. Empty classes do
            not count, and join the rarest family.
        num_families: Number of families. Paper: K. Fewer distinct sizes than this give fewer families, not an error.
    """
    class_sizes = class_sizes.cpu()
    counted = class_sizes[class_sizes > 0] if bool((class_sizes > 0).any()) else class_sizes
    sizes, how_many = counted.unique(return_counts=True)
    if len(sizes) < num_families:
        logger.info(
            "%d families requested, but the classes have only %s", num_families, plural(len(sizes), "distinct size")
        )
    starts = best_runs(sizes.double(), how_many, min(num_families, len(sizes)))
    of_class, of_counted = (torch.bucketize(each, sizes[starts[1:]], right=True) for each in (class_sizes, counted))
    centers = [counted[of_counted == family].double().mean() for family in range(len(starts))]
    return Families(of_class, torch.stack(centers))


def best_runs(values: Tensor, counts: Tensor, num_runs: int) -> list[int]:
    """Where the runs of sorted values begin that minimize the sum of squared distances to their means.

    In one dimension, the clusters of K-means are such runs. The best division of the first j values into k runs is the
    best division of the first i values into k - 1 runs, for some i, with values i to j as the last run.

    Args:
        values: Shape (n,), ascending.
        counts: Shape (n,), how often each value occurs.
        num_runs: Number of runs, at most n.
    """
    values = values - values.mean()  # keeps the sums of squares small
    number, total, squares = (_between(counts * values**power) for power in range(3))
    cost = torch.where(number > 0, squares - total**2 / number, torch.inf)  # [i, j]: of values i to j as one run
    best, begins = cost[0], []
    for _ in range(num_runs - 1):
        best, begin = (best[:, None] + cost).min(0)
        begins.append(begin)
    starts = [len(values)]
    for begin in reversed(begins):
        starts.append(int(begin[starts[-1]]))
    return [0, *reversed(starts[1:])]


def _between(values: Tensor) -> Tensor:
    """The sum of values i to j, not including j, for all i (rows) and j (columns); shape (n + 1, n + 1)."""
    sums = torch.cat([values.new_zeros(1), values.cumsum(0)])
    return sums - sums[:, None]
