"""Ramps go from nearly nothing to everything."""

import pytest

from reweigh.methods.parts.guesses import RAMPS, ramp


@pytest.mark.parametrize("shape", RAMPS)
def test_it_rises_to_one(shape):
    values = [ramp(shape, epoch, 8) for epoch in range(12)]
    assert values == sorted(values)
    assert 0 <= values[0] < 0.01
    assert values[8:] == [1.0] * 4


def test_halfway():
    found = {shape: round(ramp(shape, 1, 2), 4) for shape in RAMPS}
    assert found == {"linear": 0.5, "gaussian": 0.2865, "log": 0.9179, "exp": 0.0821}


def test_no_ramp_at_all():
    assert ramp("linear", 0, 0) == 1.0
