"""Soft and hard bootstrapping against their formulas as loops."""

from functools import partial
from math import log

import pytest
import torch

from reweigh.losses import LOSSES

bootstrap_soft, bootstrap_hard = LOSSES["bootstrap-soft"], LOSSES["bootstrap-hard"]
gce = LOSSES["gce"]


@pytest.mark.parametrize("beta", [0.0, 0.5, 0.95])
def test_the_soft_formula(check, probabilities, beta):
    def slow(row, label):
        probs = probabilities(row)
        return -sum((beta * (place == label) + (1 - beta) * p) * log(p) for place, p in enumerate(probs))

    check(partial(bootstrap_soft, beta=beta), slow)


@pytest.mark.parametrize("loss", [bootstrap_soft, bootstrap_hard])
def test_beta_1_is_cross_entropy(same, loss):
    same(partial(loss, beta=1.0), LOSSES["cross-entropy"])


def test_the_rest_of_beta_is_the_entropy_of_the_prediction_gradient_included(logits, labels):
    logits.requires_grad_()
    entropy = torch.distributions.Categorical(logits=logits).entropy()
    expected = 0.6 * LOSSES["cross-entropy"](logits, labels) + 0.4 * entropy
    found = bootstrap_soft(logits, labels, beta=0.6)
    torch.testing.assert_close(found, expected)
    slopes = [torch.autograd.grad(each.sum(), logits, retain_graph=True)[0] for each in (found, expected)]
    torch.testing.assert_close(*slopes)


@pytest.mark.parametrize("beta", [0.0, 0.5, 0.8])
def test_the_hard_formula(check, probabilities, beta):
    def slow(row, label):
        probs = probabilities(row)
        chosen = probs.index(max(probs))
        return -beta * log(probs[label]) - (1 - beta) * log(probs[chosen])

    check(partial(bootstrap_hard, beta=beta), slow)


@pytest.mark.parametrize("q", [0.3, 0.7, 1.0])
def test_the_formula_of_gce(check, probabilities, q):
    check(partial(gce, q=q), lambda row, label: (1 - probabilities(row)[label] ** q) / q)


def test_q_towards_0_is_cross_entropy(same):
    same(partial(gce, q=1e-9), LOSSES["cross-entropy"], rtol=1e-7, atol=1e-7)


def test_q_1_is_half_the_absolute_error(logits, labels):
    error = (torch.eye(4, dtype=torch.float64)[labels] - logits.softmax(1)).abs().sum(1)
    torch.testing.assert_close(gce(logits, labels, q=1.0), error / 2)
