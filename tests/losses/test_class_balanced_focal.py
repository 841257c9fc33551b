"""Class-balanced focal loss against its formula as a loop."""

from functools import partial
from math import exp, log

import pytest
import torch
import torch.nn.functional as F

from reweigh.losses import LOSSES

SIZES = [500, 40, 7, 120]
class_balanced_focal = partial(LOSSES["class-balanced-focal"], class_sizes=torch.tensor(SIZES))


@pytest.mark.parametrize("gamma", [0.0, 0.5, 2.0])
@pytest.mark.parametrize("beta", [0.0, 0.99])
def test_the_formula(check, beta, gamma):
    inverse = [(1 - beta) / (1 - beta**size) for size in SIZES]

    def slow(row, label):
        total = 0.0
        for place, z in enumerate(row):
            p = 1 / (1 + exp(-z if place == label else z))
            total -= (1 - p) ** gamma * log(p)
        return total * inverse[label] * 4 / sum(inverse)

    check(partial(class_balanced_focal, beta=beta, gamma=gamma), slow)


def test_without_either_it_is_binary_cross_entropy(logits, labels):
    target = torch.eye(4, dtype=torch.float64)[labels]
    expected = F.binary_cross_entropy_with_logits(logits, target, reduction="none").sum(1)
    torch.testing.assert_close(class_balanced_focal(logits, labels, beta=0.0, gamma=0.0), expected)
