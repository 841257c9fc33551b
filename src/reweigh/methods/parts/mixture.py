"""Mixtures of two components in one dimension: small losses belong to right labels, large ones to wrong labels."""

from typing import NamedTuple

import torch
from torch import Tensor

EPS = 1e-12
LEAST_VARIANCE = 5e-4  # added to the variances of the Gaussians, as in DivideMix's released code
BETA_EDGE = 1e-4  # distance that values of a beta mixture keep from 0 and 1
GRID_POINTS = 100


def gaussian_low(values: Tensor, iterations: int = 10, tolerance: float = 1e-2) -> Tensor:
    """The probability that each value belongs to the lower component of two Gaussians; shape (N,), double.

    As in DivideMix, values are scaled to [0, 1], and a few iterations of EM start from the smallest and largest value.
    If all values are the same, the probability is 1.

    Args:
        values: Shape (N,), finite.
        iterations: Largest number of iterations of EM.
        tolerance: Change of the mean log-likelihood below which EM stops.
    """
    scaled = _between_zero_and_one(values, values.min(), values.max())
    if scaled is None:
        return torch.ones(len(values), dtype=torch.float64)
    low = (scaled < 0.5).double()  # nearer to the smallest value than to the largest
    before = -torch.inf
    for _ in range(iterations):
        each = torch.stack([_gaussian(scaled, share) for share in (low, 1 - low)])
        low = each.softmax(0)[0]
        likelihood = float(each.logsumexp(0).mean())
        if abs(likelihood - before) < tolerance:
            break
        before = likelihood
    means = [float((scaled * share).sum() / share.sum().clamp_min(EPS)) for share in (low, 1 - low)]
    return low if means[0] <= means[1] else 1 - low


def _gaussian(values: Tensor, share: Tensor) -> Tensor:
    """The log density at each value of the Gaussian fitted to values with these shares, times its weight."""
    total = share.sum().clamp_min(EPS)
    mean = (share * values).sum() / total
    variance = (share * (values - mean).square()).sum() / total + LEAST_VARIANCE
    return (total / len(values)).log() - 0.5 * (variance.log() + (values - mean).square() / variance)


class BetaMixture(NamedTuple):
    """Two beta distributions fitted to losses: the probability that a loss belongs to the high one, as a table.

    Attributes:
        low: Loss at the lower end of the table; smaller losses count as this one.
        high: Loss at the upper end of the table; larger losses count as this one.
        table: Shape (100,), the probability at points from the lower to the upper end. Below the mean of the low
            component, it is at most the probability there; beyond its maximum, it does not fall. Otherwise it would
            be meaningless where both densities vanish.
    """

    low: float
    high: float
    table: Tensor

    @classmethod
    def fit(cls, losses: Tensor, iterations: int = 10) -> "BetaMixture":
        """Fit by EM with moments, as M-correction does, to the losses from the 5th to the 95th percentile.

        The other losses count as outliers. If all losses are the same, they belong to the low component.

        Args:
            losses: Shape (N,), finite.
        """
        ordered = losses.double().sort().values
        low, high = (ordered[round(share * (len(ordered) - 1))] for share in (0.05, 0.95))
        scaled = _between_zero_and_one(ordered[(ordered >= low) & (ordered <= high)], low, high)
        if scaled is None:
            return cls(float(low), float(high), torch.zeros(GRID_POINTS, dtype=torch.float64))
        scaled = scaled.clamp(BETA_EDGE, 1 - BETA_EDGE)
        alpha, beta = torch.tensor([[1.0], [2.0]]).double(), torch.tensor([[2.0], [1.0]]).double()
        weight = torch.full((2, 1), 0.5, dtype=torch.float64)
        for _ in range(iterations):
            shares = _posterior(scaled, alpha, beta, weight)
            total = shares.sum(1, keepdim=True).clamp_min(EPS)
            mean = ((shares * scaled).sum(1, keepdim=True) / total).clamp(BETA_EDGE, 1 - BETA_EDGE)
            variance = ((shares * (scaled - mean).square()).sum(1, keepdim=True) / total).clamp_min(EPS)
            alpha = (mean * (mean * (1 - mean) / variance - 1)).clamp_min(BETA_EDGE)
            beta = alpha * (1 - mean) / mean
            weight = total / total.sum()
        points = torch.linspace(BETA_EDGE, 1 - BETA_EDGE, GRID_POINTS, dtype=torch.float64)
        means = (alpha / (alpha + beta)).flatten()
        table = _posterior(points, alpha, beta, weight)[int(means.argmax())]
        middle = int((means.min() * (GRID_POINTS - 1)).round())
        table[:middle] = table[:middle].clamp_max(table[middle])
        peak = int(table.argmax())
        table[peak:] = table[peak]
        return cls(float(low), float(high), table)

    def __call__(self, losses: Tensor) -> Tensor:
        """The probability that each loss belongs to the high component, of its shape, dtype and device."""
        place = (losses.double() - self.low) / max(self.high - self.low, EPS)
        index = (place.clamp(0, 1) * (len(self.table) - 1)).round().long()
        return self.table.to(losses.device)[index].to(losses.dtype)


def _posterior(values: Tensor, alpha: Tensor, beta: Tensor, weight: Tensor) -> Tensor:
    """The probability of each of two components, shape (2, n), at each value, shape (n,)."""
    log_beta = torch.lgamma(alpha) + torch.lgamma(beta) - torch.lgamma(alpha + beta)
    each = weight.log() + (alpha - 1) * values.log() + (beta - 1) * (1 - values).log() - log_beta
    return each.softmax(0)


def _between_zero_and_one(values: Tensor, low: Tensor, high: Tensor) -> Tensor | None:
    """Values scaled so that these two become 0 and 1; None if they are the same."""
    spread = float(high) - float(low)
    return None if spread <= EPS else ((values.double() - float(low)) / spread).clamp(0, 1)
