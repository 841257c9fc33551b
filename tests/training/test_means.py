import numpy as np
import pytest

from reweigh.training.means import Means

STEPS = [({"loss": 2.0}, 3), ({"loss": 1.0, "meta": 5.0}, 4), ({"loss": 4.0, "meta": 1.0}, 1)]


def test_weighted_by_samples_and_each_number_by_its_own():
    means = Means()
    for numbers, samples in STEPS:
        means.add(numbers, samples)
    expected = {"loss": np.average([2, 1, 4], weights=[3, 4, 1]), "meta": np.average([5, 1], weights=[4, 1])}
    assert means.means() == pytest.approx(expected)


def test_continues_from_a_saved_state():
    whole, first, second = Means(), Means(), Means()
    for numbers, samples in STEPS:
        whole.add(numbers, samples)
    first.add(*STEPS[0])
    second.load_state_dict(first.state_dict())
    second.add(*STEPS[1])
    second.add(*STEPS[2])
    assert second.means() == whole.means()
    assert first.means() == {"loss": 2.0}
