"""Cross-entropy against its formula as a loop."""

import math
from decimal import Decimal
from functools import partial
from math import log

import pytest
import torch

from reweigh.errors import DataError
from reweigh.losses import LOSSES
from reweigh.losses.cross_entropy import log_complement

focal = LOSSES["focal"]


def test_the_formula() -> None:
    torch.manual_seed(0)
    logits, labels = torch.randn(6, 4, dtype=torch.float64), torch.tensor([0, 1, 2, 3, 0, 1])
    slow = [math.log(sum(math.exp(z) for z in row)) - row[k] for row, k in zip(logits.tolist(), labels, strict=True)]
    torch.testing.assert_close(LOSSES["cross-entropy"](logits, labels), torch.tensor(slow, dtype=torch.float64))


def test_soft_labels_average_over_classes() -> None:
    torch.manual_seed(0)
    logits, rows = torch.randn(5, 3), torch.softmax(torch.randn(5, 3), 1)
    each = torch.stack([LOSSES["cross-entropy"](logits, torch.full((5,), k)) for k in range(3)], 1)
    torch.testing.assert_close(LOSSES["cross-entropy"](logits, rows), (rows * each).sum(1))


def test_a_label_that_is_no_class() -> None:
    with pytest.raises(DataError, match="labels from 0 to 3 for a model with 3 outputs"):
        LOSSES["cross-entropy"](torch.randn(2, 3), torch.tensor([0, 3]))


@pytest.mark.parametrize("gamma", [0.5, 1.0, 2.0, 5.0])
def test_the_formula_of_focal_loss(check, probabilities, gamma):
    def slow(row, label):
        p = probabilities(row)[label]
        return -((1 - p) ** gamma) * log(p)

    check(partial(focal, gamma=gamma), slow)


def test_gamma_0_is_cross_entropy(same):
    same(partial(focal, gamma=0.0), LOSSES["cross-entropy"])


def test_sure_samples_count_less_than_in_cross_entropy(logits, labels):
    share = focal(logits, labels) / LOSSES["cross-entropy"](logits, labels)
    order = logits.softmax(1)[range(12), labels].argsort()
    assert (share[order].diff() < 0).all()


def test_sure_and_unsure_rows():
    odds = [[2**40, 1, 1, 1], [1, 1, 1, 1], [1, 2**40, 2**40, 1], [1, 2, 4, 2**60]]
    logits = torch.tensor(odds, dtype=torch.float64).log().float()
    slow = [[float((Decimal(sum(row) - power) / sum(row)).ln()) for power in row] for row in odds]
    torch.testing.assert_close(log_complement(logits.log_softmax(1)), torch.tensor(slow), rtol=1e-5, atol=0)
