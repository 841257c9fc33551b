"""Labels that a method guesses, how their term is phased in, and mixtures that tell small losses from large ones."""

import logging
from collections.abc import Sequence
from math import exp
from typing import NamedTuple

import torch
from torch import Tensor

from reweigh.core.method import Stateful
from reweigh.data import Dataset
from reweigh.names import listed, plural

logger = logging.getLogger(__name__)


class Guesses(Stateful):
    """The latest guessed label of each training sample and its weight.

    Attributes:
        labels: Shape (N,) int64, on the device; -1 before the first guess.

    Args:
        train_set: The training set; its true labels, if known, are only used to report how good the guesses are.
        device: Device of the model.
    """

    state = ("labels", "_weights")

    def __init__(self, train_set: Dataset, device: torch.device | str = "cpu"):
        self._true = None if train_set.true_labels is None else train_set.true_labels.to(device)
        self._given = train_set.labeled
        self.labels = torch.full((len(train_set),), -1, dtype=torch.int64, device=device)
        self._weights = torch.full((len(train_set),), float("nan"), device=device)

    @property
    def weights(self) -> Tensor:
        """Shape (N,); NaN for samples that were never weighed, and for labeled ones: their labels were not weighed."""
        return self._weights.cpu().masked_fill(self._given, float("nan"))

    def note(self, index: Tensor, labels: Tensor, weights: Tensor) -> dict[str, Tensor]:
        """Remember what was trained on, and return numbers to log.

        Args:
            index: Shape (n,), indices of the samples.
            labels: Shape (n,), their guessed labels.
            weights: Shape (n,), how much each counted.

        Returns:
            ``weight``, the mean weight. If the true labels are known, also ``pseudo_right``, the share of right
            guesses, and ``pseudo_right_weight``, the mean weight with those of wrong guesses set to 0. So the mean
            weight of a right guess is pseudo_right_weight / pseudo_right.
        """
        weights = weights.detach().float()
        self.labels[index], self._weights[index] = labels, weights
        numbers = {"weight": weights.mean()}
        if self._true is not None:
            right = labels == self._true[index]
            numbers |= {"pseudo_right": right.float().mean(), "pseudo_right_weight": (right * weights).mean()}
        return numbers


def sharpened(probabilities: Tensor, temperature: float) -> Tensor:
    """p^(1 / temperature) / sum, for each row p; a temperature below 1 makes the likeliest class likelier."""
    return (probabilities.log() / temperature).softmax(1)


def warn_of_vanished(before: Tensor, after: Tensor, class_names: Sequence[str]) -> None:
    """Warn of classes that no sample has any more: the model no longer learns them.

    Args:
        before: Shape (N,), the labels until now.
        after: Shape (N,), the labels from now on.
    """
    gone: list[int] = sorted(set(before.unique().tolist()) - set(after.unique().tolist()))
    if gone:
        logger.warning(
            "relabeling leaves no sample in %s: %s; replace fewer labels, or train with 'erm' and prior correction",
            plural(len(gone), "class", "classes"),
            listed(class_names[label] for label in gone),
        )


def ramp(epoch: int, epochs: int) -> float:
    """A factor that rises in equal steps from 0 in epoch 0 to 1 after ``epochs``, and stays 1."""
    return epoch / epochs if epoch < epochs else 1.0


def gaussian_ramp(epoch: int, epochs: int) -> float:
    """The same along exp(-5 (1 - t)^2), as in the Pi-model and Mean Teacher."""
    return exp(-5 * (1 - ramp(epoch, epochs)) ** 2)


EPS_SPREAD = 1e-12
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
    means = [float((scaled * share).sum() / share.sum().clamp_min(EPS_SPREAD)) for share in (low, 1 - low)]
    return low if means[0] <= means[1] else 1 - low


def _gaussian(values: Tensor, share: Tensor) -> Tensor:
    """The log density at each value of the Gaussian fitted to values with these shares, times its weight."""
    total = share.sum().clamp_min(EPS_SPREAD)
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
            total = shares.sum(1, keepdim=True).clamp_min(EPS_SPREAD)
            mean = ((shares * scaled).sum(1, keepdim=True) / total).clamp(BETA_EDGE, 1 - BETA_EDGE)
            variance = ((shares * (scaled - mean).square()).sum(1, keepdim=True) / total).clamp_min(EPS_SPREAD)
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
        place = (losses.double() - self.low) / max(self.high - self.low, EPS_SPREAD)
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
    return None if spread <= EPS_SPREAD else ((values.double() - float(low)) / spread).clamp(0, 1)
