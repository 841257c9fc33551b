"""Metrics over the epochs, by coverage, and by probability."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from reweigh.report.figures.style import LIGHT, LINES, RUNS, dress, legend, panels, shorten
from reweigh.selective import LEVELS

if TYPE_CHECKING:
    from matplotlib.figure import Figure, SubFigure

POINTS = 200  # points of the line


def plot_history(
    epochs: Sequence[int],
    lines: Mapping[str, Sequence[float]],
    what: str,
    log: bool = False,
    figure: "Figure | SubFigure | None" = None,
) -> "Figure":
    """How metrics changed during training.

    Args:
        epochs: Numbers of the epochs, shape (n,).
        lines: Name and n numbers of each line; NaN leaves a gap.
        what: Title of the vertical axis, with its unit.
        log: Whether to use a logarithmic axis if all known numbers are positive.
    """
    from matplotlib.ticker import MaxNLocator

    drawn, axes = panels(figure, 2.5)
    for place, (name, values) in enumerate(lines.items()):
        numbers = np.asarray(values, float)
        axes.plot(
            epochs,
            numbers,
            color=RUNS[place % len(RUNS)],
            linestyle=LINES[place % len(LINES)],
            linewidth=1.7,
            marker="o" if np.isfinite(numbers).sum() < 3 else None,
            markersize=4,
            label=shorten(name, 40),
        )
    known = np.concatenate([np.asarray(values, float) for values in lines.values()] or [np.empty(0)])
    known = known[np.isfinite(known)]
    if log and len(known) and known.min() > 0:
        axes.set_yscale("log")
        axes.minorticks_off()
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    if len(epochs):  # all epochs, even if a number is known for a few only
        axes.set_xlim(epochs[0] - 0.25, epochs[-1] + 0.25)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=6))
    dress(axes, "epoch", what)
    if len(lines) > 1:
        legend(drawn, axes, columns=2)
    return drawn


def plot_risk_coverage(curve: np.ndarray, figure: "Figure | SubFigure | None" = None) -> "Figure":
    """The risk-coverage curve, with marks at the usual coverages.

    Args:
        curve: Shape (n,), the error rate among the 1, 2, ..., n most confident samples
            (``reweigh.selective.risk_coverage``).
    """
    drawn, axes = panels(figure, 2.6)
    count = len(curve)
    first = min(count, max(1, round(0.05 * count)))
    counts = np.unique(np.linspace(first, count, POINTS).round().astype(int))
    axes.plot(100 * counts / count, 100 * curve[counts - 1], color=LIGHT["accent"], linewidth=1.7)
    marks = np.unique([max(1, round(level / 100 * count)) for level in LEVELS])
    axes.plot(100 * marks / count, 100 * curve[marks - 1], "o", color=LIGHT["accent"], markersize=4)
    highest = max(float(curve[first - 1 :].max()), 1e-3)  # below a coverage of 5 % it depends on a few samples
    dress(axes, "coverage, % of samples that are predicted", "% of these that are wrong")
    axes.set(xlim=(0, 101), ylim=(0, 108 * highest))
    return drawn


def plot_reliability(bins: np.ndarray, true: str) -> "Figure":
    """The share of samples whose likeliest class is right, by its probability; ``true`` is what to call the shares."""
    drawn, axes = panels(None, 3.4)
    _, at, agrees, right, low, high = (100 * each for each in bins)
    axes.plot([0, 100], [0, 100], color=LIGHT["muted"], linewidth=1, label="if the probabilities hold")
    axes.vlines(at, low, high, color=LIGHT["accent"], linewidth=1.4)
    axes.plot(at, right, "o", color=LIGHT["accent"], markersize=5, label=true)
    if not np.allclose(agrees, right):
        axes.plot(at, agrees, "x", color=LIGHT["wrong"], markersize=5, label="given labels that agree")
    dress(axes, "probability of the likeliest class, %", "% of these samples where it is right")
    axes.set(xlim=(max(at.min() - 3, 0), 101), ylim=(max(np.min([low, agrees, at]) - 3, 0), 101))
    legend(drawn, axes)
    return drawn


def plot_thresholds(thresholds: np.ndarray, rates: np.ndarray, costs: dict[str, np.ndarray]) -> "Figure":
    """Precision and recall of a class, shape (2, t), and below them costs by name, against the thresholds (t,)."""
    drawn, found = panels(None, 4.2, nrows=2, sharex=True)
    lines = [(found[0], "precision", 100 * rates[0]), (found[0], "recall", 100 * rates[1])]
    lines += [(found[1], name, cost) for name, cost in costs.items()]
    for place, (axes, name, line) in enumerate(lines):
        axes.plot(100 * thresholds, line, color=RUNS[place], linestyle=LINES[place], label=name)
        axes.legend(frameon=False, fontsize=8.5, labelcolor=LIGHT["ink"])
    dress(found[0], "", "%")
    dress(found[1], "predicted from this probability on, %", "expected cost of a sample; a false alarm costs 1")
    found[0].set(xlim=(0, 100), ylim=(0, 103))
    found[1].set_ylim(bottom=0)
    return drawn
