"""Bins and thresholds through the confusion of the labels are those by true labels."""

from typing import NamedTuple

import numpy as np
import pytest
import torch

from reweigh.issues.reliability import LEAST, LEAST_OF_CLASS, by_threshold
from reweigh.issues.reliability import reliability as bins_of
from reweigh.issues.true_labels import correction

TRANSITION = np.array([[0.9, 0.3], [0.1, 0.7]])
THRESHOLDS = np.linspace(0.1, 0.7, 7)


class Bins(NamedTuple):
    size: np.ndarray
    expected: np.ndarray
    agrees: np.ndarray
    right: np.ndarray
    low: np.ndarray
    high: np.ndarray


def reliability(*arguments, **error) -> Bins:
    return Bins(*bins_of(*arguments, **error))


def drawn(samples: int, seed: int = 0, sharpness: float = 1.0):
    """Probability of class 1, true and given labels; the probability is right if the sharpness is 1."""
    random = np.random.default_rng(seed)
    logit = random.normal(-1.5, 1.5, samples)
    true = (random.random(samples) < 1 / (1 + np.exp(-logit))).astype(int)
    given = (random.random(samples) < TRANSITION[1][true]).astype(int)
    return 1 / (1 + np.exp(-sharpness * logit)), true, given


def of_likeliest(probability, true, given, transition=TRANSITION):
    """The arguments of ``reliability``, and whether the prediction is truly right."""
    weights = correction(torch.from_numpy(transition))
    assert weights is not None
    predicted = (probability >= 0.5).astype(int)
    sure = np.where(predicted == 1, probability, 1 - probability)
    return (sure, predicted == given, weights.numpy()[predicted, given]), (predicted == true).astype(float)


def test_corrected_bins_are_those_by_true_labels() -> None:
    arguments, right = of_likeliest(*drawn(60_000))
    found = reliability(*arguments)
    wanted = reliability(arguments[0], right, right)
    assert found.size.tolist() == wanted.size.tolist() == [6000] * 10
    assert np.abs(found.right - wanted.right).max() < 0.04
    assert np.abs(found.right - found.expected).max() < 0.04
    assert (found.expected - found.agrees).max() > 0.08, "the given labels alone would blame the probabilities"


def test_limits_hold_about_as_often_as_they_say() -> None:
    held = []
    for seed in range(60):
        arguments, _ = of_likeliest(*drawn(1000, seed))
        found = reliability(*arguments)
        held += ((found.low <= found.expected) & (found.expected <= found.high)).tolist()
    assert 0.86 < np.mean(held) <= 0.98


def test_probabilities_that_are_too_sure_are_contradicted() -> None:
    arguments, _ = of_likeliest(*drawn(20_000, sharpness=3.0))
    found = reliability(*arguments)
    assert (found.expected > found.high).sum() >= 5


def test_labels_that_are_right_give_the_plain_shares() -> None:
    probability, true, _ = drawn(1000)
    (sure, agrees, right), _ = of_likeliest(probability, true, true, np.eye(2))
    found = reliability(sure, agrees, right)
    np.testing.assert_array_equal(found.right, found.agrees)
    order = np.argsort(sure)
    np.testing.assert_allclose(found.agrees, agrees[order].reshape(10, 100).mean(1))
    wider = reliability(sure, agrees, right, error=0.1)
    assert (wider.high - wider.low > found.high - found.low).all()


@pytest.mark.parametrize("samples", [1, LEAST, 2 * LEAST - 1, 2 * LEAST, 777])
def test_few_samples_and_equal_probabilities_are_joined(samples) -> None:
    random = np.random.default_rng(0)
    for sure in (random.random(samples), random.integers(3, size=samples) / 3, np.ones(samples)):
        found = reliability(sure, np.ones(samples, bool), np.ones(samples))
        assert found.size.sum() == samples
        assert found.size.min() >= min(LEAST, samples)
        assert len(found.size) <= max(len(np.unique(sure)), 1)
        assert (found.low < 1).all(), "never surer than the number of samples allows"
        assert (found.high == 1).all()


def test_thresholds_are_those_by_true_labels() -> None:
    probability, true, given = drawn(60_000)
    weights = correction(torch.from_numpy(TRANSITION))
    assert weights is not None
    found = by_threshold(probability, weights.numpy()[1][given], THRESHOLDS, miss=5.0)
    wanted = by_threshold(probability, true.astype(float), THRESHOLDS, miss=5.0)
    naive = by_threshold(probability, given.astype(float), THRESHOLDS, miss=5.0)
    np.testing.assert_allclose(found, wanted, atol=0.04)
    assert (np.abs(naive - wanted).max(1) > 0.08).all()


def test_thresholds_of_right_labels_are_counted() -> None:
    probability, true, _ = drawn(500)
    precision, recall, cost = by_threshold(probability, true.astype(float), THRESHOLDS, miss=3.0)
    for place, threshold in enumerate(THRESHOLDS):
        alarm = probability >= threshold
        hits, misses, false = (alarm & (true == 1)).sum(), (~alarm & (true == 1)).sum(), (alarm & (true == 0)).sum()
        assert precision[place] == pytest.approx(hits / alarm.sum())
        assert recall[place] == pytest.approx(hits / (hits + misses))
        assert cost[place] == pytest.approx((3 * misses + false) / 500)


def test_rates_of_few_samples_are_unknown() -> None:
    probability, true = np.linspace(0, 1, 100), np.r_[np.zeros(100 - LEAST_OF_CLASS + 1), np.ones(LEAST_OF_CLASS - 1)]
    precision, recall, cost = by_threshold(probability, true, np.array([0.5, 0.95]))
    assert np.isfinite(precision).tolist() == [True, False]
    assert np.isnan(recall).all()
    assert np.isfinite(cost).all()
