"""Thresholds give the coverage that is wanted, and the risk-coverage curve is that of a loop."""

import math

import numpy as np
import pytest
import torch

from reweigh.errors import DataError, RecipeError
from reweigh.selective import area, check_coverage, error_at, log_odds, risk_coverage, threshold

DRAW = torch.Generator().manual_seed(0)


def test_a_hand_made_case():
    scores = torch.tensor([0.9, 0.2, 0.8, 0.5, 0.4])
    wrong = torch.tensor([False, True, False, True, False])
    # surest first: right, right, wrong, right, wrong
    curve = risk_coverage(scores, wrong)
    assert curve.tolist() == pytest.approx([0, 0, 1 / 3, 1 / 4, 2 / 5])
    assert error_at(curve, 0.4) == 0
    assert error_at(curve, 0.6) == pytest.approx(1 / 3)
    assert error_at(curve, 0.7) == pytest.approx(1 / 4)  # 3.5 samples are 4
    assert error_at(curve, 1) == pytest.approx(2 / 5)
    assert error_at(curve, 0.01) == 0
    assert area(curve) == pytest.approx((0 + 0 + 1 / 3 + 1 / 4 + 2 / 5) / 5)


def test_the_curve_against_a_loop():
    scores = torch.rand(200, generator=DRAW, dtype=torch.float64)
    wrong = torch.rand(200, generator=DRAW) < 0.3
    curve = risk_coverage(scores, wrong)
    ranked = sorted(range(200), key=lambda place: -float(scores[place]))
    for count in (1, 2, 77, 200):
        assert float(curve[count - 1]) == pytest.approx(sum(bool(wrong[i]) for i in ranked[:count]) / count)


def test_equal_scores_have_no_order():
    scores = torch.tensor([1.0, 1.0, 1.0, 0.5])
    for wrong in ([True, False, False, True], [False, False, True, True]):
        curve = risk_coverage(scores, torch.tensor(wrong))
        assert curve.tolist() == pytest.approx([1 / 3, 1 / 3, 1 / 3, 2 / 4])


@pytest.mark.parametrize("coverage", [0.5, 0.7, 0.9, 0.99, 1.0])
def test_a_threshold_gives_the_wanted_coverage_on_other_samples(coverage):
    """The coverage spreads by the samples that set the threshold and by those that it is tried on."""
    scores = torch.randn(2, 4000, generator=DRAW).sigmoid()
    reached = float((scores[1] >= threshold(scores[0], coverage)).double().mean())
    assert abs(reached - coverage) <= 4 * math.sqrt(2 * coverage * (1 - coverage) / 4000)


def test_thresholds_are_right_on_average_even_of_few_samples():
    scores = torch.rand(20_000, 9, generator=DRAW, dtype=torch.float64)
    least = torch.tensor([threshold(row, 0.8) for row in scores[:5000]])
    assert float((1 - least).mean()) == pytest.approx(0.8, abs=0.01)  # of evenly spread scores so many are above it


def test_everything_is_predicted_at_full_coverage_and_something_at_the_least():
    scores = torch.tensor([0.1, 0.7, 0.3])
    assert threshold(scores, 1) == -math.inf
    assert threshold(scores, 1e-9) == pytest.approx(0.7)


def test_log_odds_are_those_of_the_largest_probability_and_do_not_saturate():
    logits = 3 * torch.randn(50, 7, generator=DRAW, dtype=torch.float64)
    torch.testing.assert_close(log_odds(logits).sigmoid(), logits.softmax(1).amax(1))
    sure = torch.tensor([[20.0, 0.0], [30.0, 0.0]])
    assert sure.softmax(1)[0, 0] == sure.softmax(1)[1, 0]
    assert log_odds(sure).tolist() == [20, 30]


@pytest.mark.parametrize("coverage", [0, -0.1, 1.01, 90, math.nan, math.inf, "0.9", None, True])
def test_no_coverage(coverage):
    with pytest.raises(RecipeError, match="should be above 0 and at most 1"):
        check_coverage(coverage)
    with pytest.raises(RecipeError):
        threshold(torch.rand(5), coverage)


def test_a_coverage_may_be_a_number_of_numpy():
    assert check_coverage(np.float32(0.5)) == 0.5  # pyright: ignore[reportArgumentType]


def test_nothing_to_judge_by():
    with pytest.raises(DataError, match="empty"):
        risk_coverage(torch.empty(0), torch.empty(0, dtype=torch.bool))
    with pytest.raises(DataError, match="hold some samples out"):
        threshold(torch.empty(0), 0.9)
