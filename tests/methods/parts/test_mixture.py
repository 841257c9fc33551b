"""Mixtures of two components, against scikit-learn and against loops."""

from math import exp, lgamma, log

import numpy as np
import pytest
import torch
from sklearn.mixture import GaussianMixture

from reweigh.methods.parts.guesses import BetaMixture, gaussian_low


def losses(small: int = 300, large: int = 100) -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    low, high = torch.randn(small, generator=generator), torch.randn(large, generator=generator)
    return torch.cat([(0.4 + 0.15 * low).abs(), 2.5 + 0.4 * high])


def test_gaussians_as_scikit_learn_fits_them():
    values = losses()
    scaled = ((values - values.min()) / (values.max() - values.min())).double().numpy()[:, None]
    slow = GaussianMixture(2, max_iter=200, tol=1e-9, reg_covar=5e-4, means_init=[[0.0], [1.0]]).fit(scaled)
    expected = slow.predict_proba(scaled)[:, int(slow.means_.argmin())]
    found = gaussian_low(values, iterations=200, tolerance=1e-9)
    np.testing.assert_allclose(found.numpy(), expected, atol=1e-4)
    assert found[:300].mean() > 0.99
    assert found[300:].mean() < 0.01


def slow_beta(values: list[float], iterations: int):
    """EM by loops: parameters (alpha, beta, weight) of both components."""
    ordered = sorted(values)
    low, high = ordered[round(0.05 * (len(values) - 1))], ordered[round(0.95 * (len(values) - 1))]
    scaled = [min(max((v - low) / (high - low), 1e-4), 1 - 1e-4) for v in values if low <= v <= high]
    parts = [(1.0, 2.0, 0.5), (2.0, 1.0, 0.5)]

    def shares(v: float) -> list[float]:
        each = [
            w * exp((a - 1) * log(v) + (b - 1) * log(1 - v) - lgamma(a) - lgamma(b) + lgamma(a + b))
            for a, b, w in parts
        ]
        return [one / sum(each) for one in each]

    for _ in range(iterations):
        belongs = [shares(v) for v in scaled]
        fresh = []
        for k in range(2):
            total = sum(row[k] for row in belongs)
            m = sum(row[k] * v for row, v in zip(belongs, scaled, strict=True)) / total
            s = sum(row[k] * (v - m) ** 2 for row, v in zip(belongs, scaled, strict=True)) / total
            a = m * (m * (1 - m) / s - 1)
            fresh.append((a, a * (1 - m) / m, total / len(scaled)))
        parts = fresh
    return low, high, shares, min(a / (a + b) for a, b, _ in parts)


def test_betas_by_a_loop():
    values = losses().double()
    low, high, shares, mean = slow_beta(values.tolist(), 10)
    found = BetaMixture.fit(values)
    assert (found.low, found.high) == pytest.approx((low, high))
    points = torch.linspace(1e-4, 1 - 1e-4, 100).double()
    expected = [shares(float(point))[1] for point in points]
    middle = round(mean * 99)
    expected[:middle] = [min(each, expected[middle]) for each in expected[:middle]]
    peak = int(np.argmax(expected))
    expected[peak:] = [expected[peak]] * (100 - peak)
    np.testing.assert_allclose(found.table.numpy(), expected, atol=1e-6)


def test_larger_losses_never_look_smaller():
    found = BetaMixture.fit(losses())
    high = found(torch.tensor([0.1, 2.5, 1e6]))
    assert high[0] < 0.1
    assert high[2] >= high[1] > 0.95
    assert high.dtype == torch.float32


@pytest.mark.parametrize("constant", [0.0, 3.0])
def test_losses_that_are_all_the_same_are_small(constant):
    values = torch.full((20,), constant)
    assert (gaussian_low(values) == 1).all()
    assert (BetaMixture.fit(values)(values) == 0).all()
    assert (BetaMixture.fit(values)(values + 1) == 0).all()
