"""Group classes of similar size into families that share one weighting curve."""

import logging
from typing import NamedTuple

import torch
from torch import Tensor

logger = logging.getLogger(__name__)


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


def by_size(class_sizes: Tensor, num_families: int) -> Families:
    """K-means on class sizes; family 0 is the rarest.

    Sorted and seeded: K-means numbers its clusters at random, and a weighting function saved in one run would meet
    the wrong classes in the next.

    Args:
        class_sizes: samples of each class by given label, shape (num_classes,). Paper: N_i. Classes without any have no
            say, and join the rarest.
        num_families: Paper: K. Fewer distinct sizes than this give fewer families, not an error.
    """
    from sklearn.cluster import KMeans

    there = class_sizes.cpu() > 0
    if bool(there.any()) and not bool(there.all()):
        found = by_size(class_sizes.cpu()[there], num_families)
        of_class = torch.zeros(len(there), dtype=torch.int64)
        of_class[there] = found.of_class
        return Families(of_class, found.centers)
    distinct = len(class_sizes.unique())
    if distinct < num_families:
        logger.info("%d families wanted, but the classes have only %d distinct sizes", num_families, distinct)
        num_families = distinct
    sizes = class_sizes.cpu().double().reshape(-1, 1).numpy()
    kmeans = KMeans(num_families, n_init=10, random_state=0).fit(sizes)  # pyright: ignore[reportArgumentType]
    centers = torch.from_numpy(kmeans.cluster_centers_).squeeze(1)
    order = centers.argsort()
    rank = torch.empty_like(order)
    rank[order] = torch.arange(num_families)
    return Families(rank[torch.from_numpy(kmeans.labels_).long()], centers[order])
