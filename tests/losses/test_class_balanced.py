"""Class-balanced cross-entropy against its formula as a loop."""

from functools import partial
from math import log

import pytest
import torch

from reweigh.errors import DataError
from reweigh.losses import LOSSES

SIZES = [500, 40, 7, 120]
class_balanced = partial(LOSSES["class-balanced"], class_sizes=torch.tensor(SIZES))


def slow_weights(beta):
    effective = [sum(beta**k for k in range(size)) for size in SIZES]  # the paper's sum, before it is closed
    inverse = [1 / number for number in effective]
    return [4 * weight / sum(inverse) for weight in inverse]


@pytest.mark.parametrize("beta", [0.9, 0.99, 0.9999])
def test_the_formula(check, probabilities, beta):
    weights = slow_weights(beta)
    check(partial(class_balanced, beta=beta), lambda row, label: -weights[label] * log(probabilities(row)[label]))


def test_beta_0_is_cross_entropy(same):
    same(partial(class_balanced, beta=0.0), LOSSES["cross-entropy"])


def test_beta_towards_1_weighs_by_the_inverse_of_the_size(same):
    inverse = 1 / torch.tensor(SIZES, dtype=torch.float64)
    weights = 4 * inverse / inverse.sum()

    def inverse_size(logits, labels):
        rows = labels if labels.dim() == 2 else torch.eye(4, dtype=torch.float64)[labels]
        return -(weights * rows * logits.log_softmax(1)).sum(1)

    same(partial(class_balanced, beta=1 - 1e-9), inverse_size, rtol=1e-5, atol=0)


def test_equal_sizes_are_cross_entropy(same):
    same(partial(LOSSES["class-balanced"], class_sizes=torch.full((4,), 30)), LOSSES["cross-entropy"])


@pytest.mark.parametrize("name", ["class-balanced", "ldam"])
def test_class_sizes_that_will_not_do(name, logits, labels):
    with pytest.raises(DataError, match="no samples of class 1, 3 of 4"):
        LOSSES[name](logits, labels, torch.tensor([3, 0, 2, 0]))
    with pytest.raises(DataError, match=r"class_sizes: shape \(3,\) for a model with 4 outputs"):
        LOSSES[name](logits, labels, torch.tensor([3, 1, 2]))
    with pytest.raises(DataError, match=r"class_sizes: missing.*bincount"):
        LOSSES[name](logits, labels)


@pytest.mark.parametrize("name", ["class-balanced", "ldam"])
def test_class_sizes_follow_the_logits_to_their_device(name):
    logits = torch.zeros(2, 4, device="meta")
    assert LOSSES[name](logits, torch.zeros(2, 4, device="meta"), torch.tensor(SIZES)).device.type == "meta"
