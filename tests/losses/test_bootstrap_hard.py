"""Hard bootstrapping against its formula as a loop."""

from functools import partial
from math import log

import pytest

from reweigh.losses import LOSSES

bootstrap_hard = LOSSES["bootstrap-hard"]


@pytest.mark.parametrize("beta", [0.0, 0.5, 0.8])
def test_the_formula(check, probabilities, beta):
    def slow(row, label):
        probs = probabilities(row)
        chosen = probs.index(max(probs))
        return -beta * log(probs[label]) - (1 - beta) * log(probs[chosen])

    check(partial(bootstrap_hard, beta=beta), slow)


def test_beta_1_is_cross_entropy(same):
    same(partial(bootstrap_hard, beta=1.0), LOSSES["cross-entropy"])
