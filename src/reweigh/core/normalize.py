"""How the weights of a batch are scaled before they meet its losses: published recipes use three ways."""

from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor

Average = Callable[[Tensor], Tensor]
"""The mean of a number over processes."""

Normalize = Literal["mean", "weight-sum", "weight-sum-differentiated"]

Normalizer = Callable[[Tensor, Tensor | int, Average], Tensor]
"""(weights of the batch, number of samples in it, average) -> scaled weights, shape (slots,).

In several processes each has a part of the batch, and the number of samples is that of an average part.
"""


def mean(weights: Tensor, size: Tensor | int, average: Average) -> Tensor:
    """Divide by the number of samples: small weights mean small steps. The released code for label noise.

    Examples:
        >>> weights = torch.tensor([0.8, 0.2])
        >>> mean(weights, 2, lambda number: number)
        tensor([0.4000, 0.1000])
    """
    return weights / size


def weight_sum(weights: Tensor, size: Tensor | int, average: Average) -> Tensor:
    """Divide by the sum, held constant: only ratios of weights matter. The released code for long tails.

    Examples:
        >>> weights = torch.tensor([0.3, 0.1])
        >>> weight_sum(weights, 2, lambda number: number)  # sums to one, whatever the scale
        tensor([0.7500, 0.2500])
    """
    return weights / _positive(average(weights.sum().detach()))


def weight_sum_differentiated(weights: Tensor, size: Tensor | int, average: Average) -> Tensor:
    """Divide by the sum and differentiate it too: raising one weight lowers the others. The paper's listing.

    Examples:
        >>> weights = torch.tensor([0.3, 0.1])
        >>> weight_sum_differentiated(weights, 2, lambda number: number)
        tensor([0.7500, 0.2500])
    """
    return weights / _positive(average(weights.sum()))


def _positive(total: Tensor) -> Tensor:
    return total.clamp_min(torch.finfo(total.dtype).tiny)


NORMALIZERS: dict[str, Normalizer] = {
    "mean": mean,
    "weight-sum": weight_sum,
    "weight-sum-differentiated": weight_sum_differentiated,
}
