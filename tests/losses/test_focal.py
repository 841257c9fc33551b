"""Focal loss against its formula as a loop."""

from functools import partial
from math import log

import pytest

from reweigh.losses import LOSSES

focal = LOSSES["focal"]


@pytest.mark.parametrize("gamma", [0.5, 1.0, 2.0, 5.0])
def test_the_formula(check, probabilities, gamma):
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
