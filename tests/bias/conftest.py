import math

import pytest
import torch


@pytest.fixture
def within_binomial():
    """Are counts what the binomial law allows? Five deviations: one false alarm in a million."""

    def judge(count: float, trials: int, probability: float) -> bool:
        return abs(count - trials * probability) <= 5 * math.sqrt(trials * probability * (1 - probability)) + 1e-9

    return judge


@pytest.fixture
def matrix_within_binomial(within_binomial):
    """Is each entry of a realized transition matrix what the wanted one allows?"""

    def judge(biased, before: torch.Tensor, wanted: torch.Tensor) -> bool:
        sizes = torch.bincount(before, minlength=len(wanted))
        return all(
            within_binomial(float(biased.transition[i, j]) * int(sizes[i]), int(sizes[i]), float(wanted[i, j]))
            for i in range(len(wanted))
            for j in range(len(wanted))
        )

    return judge


@pytest.fixture
def ten_classes() -> torch.Tensor:
    """40,000 labels, 4,000 of each class, in no order."""
    return torch.arange(40_000)[torch.randperm(40_000, generator=torch.Generator().manual_seed(1))] % 10
