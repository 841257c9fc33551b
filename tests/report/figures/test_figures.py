"""Every figure takes odd data, draws into a figure of the user's, and shows the numbers that it is given."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from reweigh.report import figures
from reweigh.report.figures.classes import counts, known
from reweigh.report.figures.map import MAX_POINTS, drawn_points
from reweigh.report.figures.weights import loss_limit, smooth
from reweigh.report.svg import to_svg
from reweigh.weighting import ClassAwareNet

DRAW = np.random.default_rng(0)
NAN = np.full(5, np.nan)
CASES = {
    "weighting": (figures.plot_weighting, (ClassAwareNet(3), DRAW.random(100))),
    "weighting without losses": (figures.plot_weighting, (ClassAwareNet(7),)),
    "weighting, losses not finite": (figures.plot_weighting, (ClassAwareNet(1), NAN)),
    "weighting, losses zero": (figures.plot_weighting, (ClassAwareNet(1), np.zeros(5))),
    "weights": (figures.plot_weights, (DRAW.random(100), DRAW.random(100) < 0.2)),
    "weights, all alike": (figures.plot_weights, (np.ones(9),)),
    "weights, none known": (figures.plot_weights, (NAN,)),
    "weights, none known but wrong ones": (figures.plot_weights, (NAN, np.arange(5) < 2)),
    "losses": (figures.plot_losses, (DRAW.random(90), DRAW.integers(0, 3, 90), "abc", DRAW.random(90) < 0.3)),
    "losses, not finite": (figures.plot_losses, (NAN, np.arange(5), "abcde")),
    "matrix": (figures.plot_matrix, (np.eye(3, dtype=int), "abc")),
    "matrix of nothing": (figures.plot_matrix, (np.zeros((2, 2), int), "ab")),
    "matrix of many": (figures.plot_matrix, (DRAW.integers(0, 9, (100, 100)), [f"class {n}" for n in range(100)])),
    "class accuracy": (figures.plot_class_accuracy, (np.array([0.5, np.nan]), np.array([10, 0]), "ab")),
    "accuracy by size": (figures.plot_accuracy_by_size, (DRAW.random(40), DRAW.integers(1, 500, 40))),
    "risk-coverage": (figures.plot_risk_coverage, (DRAW.random(300),)),
    "risk-coverage of one": (figures.plot_risk_coverage, (np.zeros(1),)),
    "risk-coverage without an error": (figures.plot_risk_coverage, (np.zeros(50),)),
    "history": (figures.plot_history, ([1, 2, 3], {"loss": [1, np.nan, 0.2]}, "loss")),
    "history of one epoch": (figures.plot_history, ([1], {"a": [1e-9], "b": [2]}, "norm", True)),
    "weightings": (figures.plot_weightings, ({"a": ClassAwareNet(3), "b": ClassAwareNet(1)}, "abc", 4.0)),
    "points": (figures.plot_points, (DRAW.random((3, 2)), np.arange(3), "abc", np.arange(3) < 1)),
    "points of nothing": (figures.plot_points, (np.empty((0, 2)), np.empty(0, int), "ab")),
    "points of many classes": (figures.plot_points, (DRAW.random((90, 2)), np.arange(90), [f"{n}" for n in range(90)])),
    "history of zeros": (figures.plot_history, ([1, 2], {"a": [0, 0]}, "norm", True)),
}


@pytest.mark.parametrize("case", CASES)
def test_draws_anew_and_into_a_part_of_the_users_own_figure(case):
    plot, arguments = CASES[case]
    drawn = plot(*arguments)
    assert isinstance(drawn, Figure)
    assert len(to_svg(drawn, "a", "")) < 40_000
    if " " in case:
        return
    left, right = Figure(layout="constrained").subfigures(1, 2)
    assert plot(*arguments, figure=left) is left
    assert left.axes
    assert not right.axes


def test_curves_are_those_of_the_net():
    net = ClassAwareNet(3)
    losses = np.array([0, 1.5, 4])
    import torch

    slow = [[net(torch.tensor([loss]).float(), torch.tensor([f])).item() for loss in losses] for f in range(3)]
    np.testing.assert_allclose(figures.curves(net, losses), slow, rtol=1e-6)
    drawn = figures.plot_weighting(net, max_loss=4.0).axes[0].get_lines()
    for line, expected in zip(drawn, slow, strict=True):
        assert line.get_ydata()[-1] == pytest.approx(expected[-1], rel=1e-5)


def test_counts_against_a_loop():
    rows, columns = DRAW.integers(-1, 5, 300), DRAW.integers(-1, 5, 300)
    slow = np.zeros((4, 4), int)
    for row, column in zip(rows, columns, strict=True):
        if 0 <= row < 4 and 0 <= column < 4:
            slow[row, column] += 1
    np.testing.assert_array_equal(counts(*known(rows, columns, 4), 4), slow)


def test_a_smooth_histogram_keeps_the_number_of_samples():
    losses = DRAW.exponential(size=1000)
    assert smooth(losses, 2.0).sum() == pytest.approx(1000)
    assert smooth(np.empty(0), 2.0).sum() == 0


def test_the_axis_of_losses_ends_beyond_nearly_all():
    losses = np.r_[DRAW.random(2000), 1e6, np.inf, np.nan]
    assert 0.9 < loss_limit(losses) < 2
    assert loss_limit(np.array([np.nan])) == 7


def test_a_map_has_one_dot_per_sample_and_stays_small():
    """Of few samples all are drawn, of 100,000 a random part, in a hundred kilobytes at most."""
    points, labels = DRAW.random((100_000, 2)), DRAW.integers(0, 12, 100_000)
    wrong = labels == 3
    few = to_svg(figures.plot_points(points[:50], labels[:50], "abcdefghijkl", wrong[:50]), "f1", "Map")
    assert few.count("h0") == 50 + wrong[:50].sum()
    many = to_svg(figures.plot_points(points, labels, "abcdefghijkl", wrong), "f1", "Map")
    chosen = drawn_points(100_000)
    assert len(set(chosen.tolist())) == MAX_POINTS
    assert many.count("h0") == MAX_POINTS + wrong[chosen].sum()
    assert len(many) < 100_000
