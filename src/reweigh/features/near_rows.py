"""Rows of a table that are nearly the same, closer than chance explains."""

import torch
from torch import Tensor

from reweigh.features.neighbors import AROUND, FEWEST, nearest

CHANCE = 0.1  # pairs that may be found where there are none
LEAST = 1.5  # dimensions; on a line rows are close by chance
CLOSE = 0.25  # times the usual distance: what near-duplicates are apart, at most


def near_duplicates(rows: Tensor) -> Tensor:
    """Pairs of rows that are nearly, but not exactly, the same, shape (pairs, 2); the smaller index first.

    In d dimensions, a row is t times closer to its nearest neighbor than to the next k by chance with a probability of
    about k t^d. Rows count as nearly the same if they are so close that a tenth of a pair is expected by chance; d is
    estimated from the distances (Levina, Bickel: Maximum likelihood estimation of intrinsic dimension, 2005).

    Args:
        rows: Shape (N, width), of comparable scale.
    """
    if len(rows) < FEWEST:
        return torch.empty(0, 2, dtype=torch.int64)
    first = _distinct(rows)
    different = rows[first].float()
    if len(different) < FEWEST:
        return torch.empty(0, 2, dtype=torch.int64)
    # one more coordinate, the same everywhere: angles seen from far away are distances
    height = 2 * different.square().sum(1).mean().sqrt().clamp_min(1e-6)
    squares, index = nearest(torch.cat([different, height.expand(len(different), 1)], 1), AROUND + 1)
    distances = squares.double().clamp_min(1e-12).sqrt()
    usual = distances[:, 1:].mean(1)
    slopes = (distances[:, -1:] / distances[:, 1:-1]).log().mean(1)
    dimension = float(1 / slopes[slopes > 0].median()) if bool((slopes > 0).any()) else 1.0
    if dimension < LEAST:
        return torch.empty(0, 2, dtype=torch.int64)
    threshold = min(CLOSE, (CHANCE / (AROUND * len(different))) ** (1 / dimension))
    other = index[:, 0]
    close = distances[:, 0] < threshold * torch.minimum(usual, usual[other])
    pairs = torch.stack([first, first[other]], 1)[close]
    return torch.stack([pairs.min(1).values, pairs.max(1).values], 1).unique(dim=0)


def _distinct(rows: Tensor) -> Tensor:
    """The indices of the rows that are not copies of earlier ones."""
    _, number = torch.unique(rows, dim=0, return_inverse=True)
    firsts = torch.full((int(number.max()) + 1,), len(rows))
    return firsts.scatter_reduce(0, number, torch.arange(len(rows)), "amin").sort().values
