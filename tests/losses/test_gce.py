"""Generalized cross-entropy against its formula as a loop, and at the ends of its exponent."""

from functools import partial

import pytest
import torch

from reweigh.losses import LOSSES

gce = LOSSES["gce"]


@pytest.mark.parametrize("q", [0.3, 0.7, 1.0])
def test_the_formula_of_gce(check, probabilities, q):
    check(partial(gce, q=q), lambda row, label: (1 - probabilities(row)[label] ** q) / q)


def test_q_towards_0_is_cross_entropy(same):
    same(partial(gce, q=1e-9), LOSSES["cross-entropy"], rtol=1e-7, atol=1e-7)


def test_q_1_is_half_the_absolute_error(logits, labels):
    error = (torch.eye(4, dtype=torch.float64)[labels] - logits.softmax(1)).abs().sum(1)
    torch.testing.assert_close(gce(logits, labels, q=1.0), error / 2)
