"""Ramps go from nearly nothing to everything."""

import pytest

from reweigh.methods.parts.guesses import gaussian_ramp, ramp


@pytest.mark.parametrize(("rising", "halfway"), [(ramp, 0.5), (gaussian_ramp, 0.2865)])
def test_it_rises_to_one(rising, halfway):
    values = [rising(epoch, 8) for epoch in range(12)]
    assert values == sorted(values)
    assert 0 <= values[0] < 0.01
    assert round(values[4], 4) == halfway
    assert values[8:] == [1.0] * 4
    assert rising(0, 0) == 1.0
