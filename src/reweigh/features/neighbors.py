"""What nearest neighbors say of samples: near-duplicates, and outliers that belong to no class."""

import logging
from math import ceil
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from reweigh.data import Inputs

log = logging.getLogger(__name__)
FEWEST = 50  # samples; among fewer, neighbors mean nothing
MOST = 100_000  # beyond, all pairs take too long
AROUND = 10  # neighbors, besides the nearest, that say how far apart samples usually are here
IDENTICAL = 1e-6
NEIGHBORS = (20, 200)  # at least, at most
AT_ONCE = 20_000_000  # distances


class Neighborhood(NamedTuple):
    """What neighbors say of each sample.

    Attributes:
        near_duplicate_of: Shape (N,), index of the nearest sample if it is nearly the same, otherwise -1.
        outlier: Shape (N,) bool, whether the sample lies far from all others but a few.
    """

    near_duplicate_of: Tensor
    outlier: Tensor


class Rule(NamedTuple):
    """What counts as near-duplicate and as outlier.

    Attributes:
        close: What near-duplicates are apart at most, in mean distances of their next ten neighbors.
        island: Share of the samples: a group of similar foreign samples up to this size still counts as outliers.
        far: Distance of outliers from their neighbors, in standard deviations above the median, estimated robustly.
        whitens: Whether features are whitened before outliers are looked for, so that directions count in which samples
            seldom differ. In a language that a network knows little of, that hides what differs.
    """

    close: float
    island: float
    far: float
    whitens: bool


def neighborhood(rows: Inputs, rule: Rule) -> Neighborhood | None:
    """Near-duplicates and outliers among samples, by the angle between their features.

    A sample and its nearest one are near-duplicates if they are, say, half as far apart as each is from its next ten
    neighbors: a fixed distance would find too many where samples are dense. An outlier is far from its k-th neighbor,
    where k is, say, a fiftieth of the samples: foreign images come in groups that are alike, and with a small k they
    would vouch for each other.

    Args:
        rows: Features, shape (N, width).
        rule: ``PHOTOS`` or ``TEXT``.

    Returns:
        None if there are too few samples, or too many.
    """
    if not FEWEST <= len(rows) <= MOST:
        if len(rows) > MOST:
            log.info("near-duplicates and outliers are not searched for among more than %s samples", f"{MOST:,}")
        return None
    if not isinstance(rows, Tensor):
        rows = rows[torch.arange(len(rows))]
    low, high = NEIGHBORS
    k = min(max(low, min(ceil(rule.island * len(rows)), high)), len(rows) - 1)
    distance, index = nearest(rows, 1 + AROUND)
    around = distance[:, 1 : 1 + AROUND].mean(1)
    first, other = distance[:, 0], index[:, 0]
    close = (first < rule.close * torch.minimum(around, around[other])) | (first <= IDENTICAL)
    last = nearest(whitened(rows) if rule.whitens else rows, k)[0][:, -1]
    middle = last.median()
    spread = 1.4826 * (last - middle).abs().median()  # the standard deviation, if most are normally distributed
    return Neighborhood(torch.where(close, other, -1), last > middle + rule.far * spread)


def whitened(rows: Tensor) -> Tensor:
    """Directions of samples whose covariance, plus its mean on the diagonal, is the identity; up to a rotation.

        W (u - mean),    W (C + c I) W^T = I,    u = rows / |rows|,    c = trace(C) / width

    Foreign samples differ where the others do not. The mean on the diagonal keeps noise in directions in which nothing
    differs from counting as much.

    Args:
        rows: Shape (N, width).
    """
    unit = F.normalize(rows.double(), dim=1)
    unit = unit - unit.mean(0)
    covariance = unit.T @ unit / len(unit)
    level = covariance.diagonal().mean().clamp_min(IDENTICAL**2)
    root = torch.linalg.cholesky(covariance + level * torch.eye(len(covariance), dtype=covariance.dtype))
    return torch.linalg.solve_triangular(root, unit.T, upper=False).T.float()


def nearest(rows: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Cosine distances and indices of the k nearest other samples, the nearest first, each of shape (N, k). Exact."""
    unit = F.normalize(rows.float(), dim=1)
    distances, indices = [], []
    for some in torch.arange(len(unit)).split(max(1, AT_ONCE // len(unit))):
        all_of = 1 - unit[some] @ unit.T
        all_of[torch.arange(len(some)), some] = torch.inf
        found = all_of.topk(k, largest=False)
        distances.append(found.values.clamp_min(0))
        indices.append(found.indices)
    return torch.cat(distances), torch.cat(indices)


PHOTOS = Rule(close=0.5, island=0.02, far=2.5, whitens=True)
TEXT = Rule(close=0.3, island=0.06, far=2.0, whitens=False)  # sentences of a kind are alike, and foreign ones spread
