"""Orders show every sample once; the informative one takes the classes in turn, the least certain first."""

import numpy as np
import pytest

from reweigh.review.orders import ORDERS, doubtful, informative

RNG = np.random.default_rng(0)
QUALITY, SUGGESTED = RNG.random(60), RNG.choice([0, 0, 0, 1, 3], 60)


@pytest.mark.parametrize("name", ORDERS)
def test_every_sample_once(name):
    assert sorted(ORDERS[name](QUALITY, SUGGESTED)) == list(range(60))


def test_the_worst_first():
    assert (np.diff(QUALITY[doubtful(QUALITY, SUGGESTED)]) >= 0).all()


def test_classes_in_turn_the_least_certain_first():
    left = set(range(60))
    expected = []
    while left:  # a round: from each class that is left, the sample nearest to one half
        turn = [
            min((i for i in left if SUGGESTED[i] == label), key=lambda i: abs(QUALITY[i] - 0.5))
            for label in sorted({SUGGESTED[i] for i in left})
        ]
        expected += sorted(turn, key=lambda i: abs(QUALITY[i] - 0.5))
        left -= set(turn)
    assert informative(QUALITY, SUGGESTED).tolist() == expected
