"""Abstaining from doubtful predictions: the confidence needed for a coverage, and the error rate at it."""

import math
from numbers import Real

import torch
from torch import Tensor

from reweigh.errors import DataError, RecipeError

LEVELS = (70, 75, 80, 85, 90, 95, 100)
"""Coverages in percent that selective classifiers are usually compared at. Paper: SM, selective classification."""


def check_coverage(coverage: float, what: str = "coverage") -> float:
    """Return the coverage if it is valid.

    Args:
        what: Name of the value, for the message.

    Raises:
        RecipeError: It is not above 0 and at most 1.
    """
    number = isinstance(coverage, Real) and not isinstance(coverage, bool)
    if not number or not 0 < coverage <= 1:
        raise RecipeError(f"{what}: got {coverage!r}; should be above 0 and at most 1: the share of samples to predict")
    return float(coverage)


def log_odds(logits: Tensor) -> Tensor:
    """The log-odds of the likeliest class, shape (n,): the same order as by its probability, without rounding to 1.

    The softmax response (Geifman and El-Yaniv, 2017), as a logit.

    Args:
        logits: Shape (n, num_classes).
    """
    top = logits.argmax(1, keepdim=True)
    others = logits.scatter(1, top, -math.inf).logsumexp(1)
    return logits.gather(1, top).squeeze(1) - others


def threshold(scores: Tensor, coverage: float) -> float:
    """The score that a sample must reach to be predicted, so that this share of new samples is.

    It is the k-th largest of n scores, k nearest to coverage (n + 1): for new samples from the same distribution, a
    share of k / (n + 1) is expected at or above it. The actual share varies by about sqrt(coverage (1 - coverage) / n).

    Args:
        scores: Shape (n,), scores of samples that the model was not trained on. Their labels do not matter.
        coverage: Above 0, at most 1; 1 predicts everything.

    Raises:
        RecipeError: The coverage is not valid.
        DataError: There are no scores.
    """
    rank = round(check_coverage(coverage) * (len(scores) + 1))
    if len(scores) == 0:
        raise DataError("no scores to set a threshold by; hold some samples out of training for it")
    return -math.inf if rank > len(scores) else float(scores.sort(descending=True).values[max(rank, 1) - 1])


def risk_coverage(scores: Tensor, wrong: Tensor) -> Tensor:
    """The share of wrong predictions among the 1, 2, ..., n samples of highest score, shape (n,), float64.

    Samples of equal score have no order: each counts as the mean of them all.

    Args:
        scores: Shape (n,).
        wrong: Shape (n,), bool; which predictions are wrong.

    Raises:
        DataError: There is no sample.
    """
    if len(scores) == 0:
        raise DataError("the set to judge on is empty; give it at least one sample")
    order = scores.argsort(descending=True)
    _, group, sizes = scores[order].unique_consecutive(return_inverse=True, return_counts=True)
    errors = torch.zeros(len(sizes), dtype=torch.float64).index_add_(0, group, wrong[order].double())
    return (errors / sizes)[group].cumsum(0) / torch.arange(1, len(scores) + 1)


def error_at(curve: Tensor, coverage: float) -> float:
    """The selective risk at a coverage: the error among this share of the samples, the surest ones.

    Args:
        curve: The result of ``risk_coverage``.
    """
    count = math.ceil(check_coverage(coverage) * len(curve) - 1e-9)
    return float(curve[count - 1])


def area(curve: Tensor) -> float:
    """The area under the risk-coverage curve: its mean over all coverages (Geifman et al., ICLR 2019)."""
    return float(curve.mean())
