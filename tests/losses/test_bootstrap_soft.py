"""Soft bootstrapping against its formula as a loop."""

from functools import partial
from math import log

import pytest
import torch

from reweigh.losses import LOSSES

bootstrap_soft = LOSSES["bootstrap-soft"]


@pytest.mark.parametrize("beta", [0.0, 0.5, 0.95])
def test_the_formula(check, probabilities, beta):
    def slow(row, label):
        probs = probabilities(row)
        return -sum((beta * (place == label) + (1 - beta) * p) * log(p) for place, p in enumerate(probs))

    check(partial(bootstrap_soft, beta=beta), slow)


def test_beta_1_is_cross_entropy(same):
    same(partial(bootstrap_soft, beta=1.0), LOSSES["cross-entropy"])


def test_the_rest_of_beta_is_the_entropy_of_the_prediction_gradient_included(logits, labels):
    logits.requires_grad_()
    entropy = torch.distributions.Categorical(logits=logits).entropy()
    expected = 0.6 * LOSSES["cross-entropy"](logits, labels) + 0.4 * entropy
    found = bootstrap_soft(logits, labels, beta=0.6)
    torch.testing.assert_close(found, expected)
    slopes = [torch.autograd.grad(each.sum(), logits, retain_graph=True)[0] for each in (found, expected)]
    torch.testing.assert_close(*slopes)
