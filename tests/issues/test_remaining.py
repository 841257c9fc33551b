"""The estimate of wrong labels left: honest about doubts that are off, and sharper with each decision."""

import numpy as np
import pytest

from reweigh.issues.remaining import remaining
from reweigh.review.orders import ORDERS


def simulated(seed, shift, slope):
    """Doubts, and labels that are wrong more or less often than the doubts say."""
    rng = np.random.default_rng(seed)
    doubt = np.clip(rng.beta(0.25, 1.2, 2000), 0.002, 0.998)
    odds = shift + slope * np.log(doubt / (1 - doubt))
    return doubt, rng.random(2000) < 1 / (1 + np.exp(-odds))


def after(doubt, wrong, order, count):
    seen = ORDERS[order](1 - doubt, np.zeros(len(doubt), int))[:count]
    left = np.setdiff1d(np.arange(len(doubt)), seen)
    return remaining(doubt, seen, wrong[seen]), int(wrong[left].sum())


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("shift", "slope"), [(0, 1), (-0.8, 1), (0.7, 0.8)])
def test_nine_in_ten_intervals_hold_the_truth(order, shift, slope):
    inside, widths = [], []
    for seed in range(20):
        doubt, wrong = simulated(seed, shift, slope)
        found, truth = after(doubt, wrong, order, 200)
        inside.append(found.low <= truth <= found.high)
        first, _ = after(doubt, wrong, order, 0)
        widths.append((found.high - found.low) / (first.high - first.low))
    assert np.mean(inside) >= 0.8
    assert np.mean(widths) < 0.8


def test_limits_are_no_closer_than_those_of_training_less_what_was_found():
    doubt, wrong = simulated(0, 0, 1)
    seen = np.argsort(-doubt)[:300]
    alone = remaining(doubt, seen, wrong[seen])
    found = int(wrong[seen].sum())
    assert remaining(doubt, seen, wrong[seen], (found + 1, 900)) == (alone.estimate, 1, 900 - found)
    assert remaining(doubt, seen, wrong[seen], (0, 5000)) == (alone.estimate, 0, 1700)
    assert remaining(doubt, seen, wrong[seen], (found + alone.estimate,) * 2) == alone


def test_on_the_grid_it_is_bayes_rule():
    """Two samples and one decision, against a sum over a fine grid written as a loop."""
    doubt = np.array([0.3, 0.6])
    found = remaining(doubt, np.array([1]), np.array([True]))
    total = mean = 0.0
    for a in np.linspace(-4, 4, 161):
        for b in np.linspace(0.1, 2.5, 121):
            share = 1 / (1 + np.exp(-(a + b * np.log(doubt / (1 - doubt)))))
            belief = np.exp(-((a / 0.9) ** 2) / 2 - ((b - 1) / 0.35) ** 2 / 2) * share[1]
            total, mean = total + belief, mean + belief * share[0]
    assert abs(found.estimate - mean / total) < 0.01


def test_when_all_is_decided_nothing_is_left():
    doubt, wrong = simulated(0, 0, 1)
    assert remaining(doubt, np.arange(2000), wrong) == (0, 0, 0)


def test_before_any_decision_it_is_the_sum_of_the_doubts():
    nothing = np.empty(0, int)
    for seed in range(3):
        doubt, _ = simulated(seed, 0, 1)
        found = remaining(doubt, nothing, nothing.astype(bool))
        assert found.estimate == pytest.approx(doubt.sum(), rel=0.001)
        assert found.low < found.estimate < found.high
