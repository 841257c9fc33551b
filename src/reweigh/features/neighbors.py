"""What nearest neighbors say of samples: near-duplicates, and outliers that belong to no class."""

import logging
from math import ceil
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from reweigh.data import Inputs
from reweigh.data.splits import first_of, nearest

log = logging.getLogger(__name__)
MIN_SAMPLES = 50  # samples; among fewer, neighbors mean nothing
MAX_SAMPLES = 100_000  # beyond, all pairs take too long
USUAL_NEIGHBORS = 10  # neighbors, besides the nearest, that say how far apart samples usually are here
EPS_DISTANCE = 1e-6
NEIGHBOR_LIMITS = (20, 200)  # at least, at most


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
    would vouch for each other. Fewer samples than features are not whitened: all would be equally far apart.
    """
    if not MIN_SAMPLES <= len(rows) <= MAX_SAMPLES:
        if len(rows) > MAX_SAMPLES:
            log.info("near-duplicates and outliers are not searched for among more than %s samples", f"{MAX_SAMPLES:,}")
        return None
    if not isinstance(rows, Tensor):
        rows = rows[torch.arange(len(rows))]
    low, high = NEIGHBOR_LIMITS
    k = min(max(low, min(ceil(rule.island * len(rows)), high)), len(rows) - 1)
    distance, index = nearest(rows, 1 + USUAL_NEIGHBORS)
    around = distance[:, 1 : 1 + USUAL_NEIGHBORS].mean(1)
    first, other = distance[:, 0], index[:, 0]
    close = (first < rule.close * torch.minimum(around, around[other])) | (first <= EPS_DISTANCE)
    last = nearest(whitened(rows) if rule.whitens and len(rows) > rows.shape[1] else rows, k)[0][:, -1]
    middle = last.median()
    spread = 1.4826 * (last - middle).abs().median()  # the standard deviation, if most are normally distributed
    return Neighborhood(torch.where(close, other, -1), last > middle + rule.far * spread)


def whitened(rows: Tensor) -> Tensor:
    """Directions of samples whose covariance, plus its mean on the diagonal, is the identity; up to a rotation.

        W (u - mean),    W (C + c I) W^T = I,    u = rows / |rows|,    c = trace(C) / width

    Foreign samples differ where the others do not. The mean on the diagonal keeps noise in directions in which nothing
    differs from counting as much.
    """
    unit = F.normalize(rows.double(), dim=1)
    unit = unit - unit.mean(0)
    covariance = unit.T @ unit / len(unit)
    level = covariance.diagonal().mean().clamp_min(EPS_DISTANCE**2)
    root = torch.linalg.cholesky(covariance + level * torch.eye(len(covariance), dtype=covariance.dtype))
    return torch.linalg.solve_triangular(root, unit.T, upper=False).T.float()


PHOTOS = Rule(close=0.5, island=0.02, far=2.5, whitens=True)
TEXT = Rule(close=0.3, island=0.06, far=2.0, whitens=False)  # sentences of a kind are alike, and foreign ones spread


PAIRS_BY_CHANCE = 0.1  # pairs that may be found where there are none
MIN_DIMENSIONS = 1.5  # dimensions; on a line rows are close by chance
MAX_RELATIVE_DISTANCE = 0.25  # times the usual distance: what near-duplicates are apart, at most


def near_duplicates(rows: Tensor) -> Tensor:
    """Pairs of rows that are nearly, but not exactly, the same, shape (pairs, 2); the smaller index first.

    In d dimensions, a row is t times closer to its nearest neighbor than to the next k by chance with a probability of
    about k t^d. Rows count as nearly the same if they are so close that a tenth of a pair is expected by chance; d is
    estimated from the distances (Levina, Bickel: Maximum likelihood estimation of intrinsic dimension, 2005).
    """
    if len(rows) < MIN_SAMPLES:
        return torch.empty(0, 2, dtype=torch.int64)
    first = first_of(torch.unique(rows, dim=0, return_inverse=True)[1])  # those that are not copies of earlier ones
    different = rows[first].float()
    if len(different) < MIN_SAMPLES:
        return torch.empty(0, 2, dtype=torch.int64)
    # one more coordinate, the same everywhere: angles seen from far away are distances
    height = 2 * different.square().sum(1).mean().sqrt().clamp_min(1e-6)
    squares, index = nearest(torch.cat([different, height.expand(len(different), 1)], 1), USUAL_NEIGHBORS + 1)
    distances = squares.double().clamp_min(1e-12).sqrt()
    usual = distances[:, 1:].mean(1)
    slopes = (distances[:, -1:] / distances[:, 1:-1]).log().mean(1)
    dimension = float(1 / slopes[slopes > 0].median()) if bool((slopes > 0).any()) else 1.0
    if dimension < MIN_DIMENSIONS:
        return torch.empty(0, 2, dtype=torch.int64)
    threshold = min(MAX_RELATIVE_DISTANCE, (PAIRS_BY_CHANCE / (USUAL_NEIGHBORS * len(different))) ** (1 / dimension))
    other = index[:, 0]
    close = distances[:, 0] < threshold * torch.minimum(usual, usual[other])
    pairs = torch.stack([first, first[other]], 1)[close]
    return torch.stack([pairs.min(1).values, pairs.max(1).values], 1).unique(dim=0)
