"""The error of the predictions that are kept, by how many are."""

from typing import TYPE_CHECKING

import numpy as np

from reweigh.report.figures.style import LIGHT, dress, panels
from reweigh.selective import LEVELS

if TYPE_CHECKING:
    from matplotlib.figure import Figure, SubFigure

POINTS = 200  # of the line


def plot_risk_coverage(
    curve: np.ndarray, top: float | None = None, figure: "Figure | SubFigure | None" = None
) -> "Figure":
    """The risk-coverage curve, with marks at the usual coverages.

    Args:
        curve: shape (n,), the error among the 1, 2, ..., n surest samples (``reweigh.selective.risk_coverage``).
        top: where the axis of errors ends, a share; by default at the largest error from a coverage of 5 percent on:
            below, a few samples decide.
        figure: draw into this one.
    """
    drawn, axes = panels(figure, 2.6)
    count = len(curve)
    first = min(count, max(1, round(0.05 * count)))
    places = np.unique(np.linspace(first, count, POINTS).round().astype(int))
    axes.plot(100 * places / count, 100 * curve[places - 1], color=LIGHT["accent"], linewidth=1.7)
    marks = np.unique([max(1, round(level / 100 * count)) for level in LEVELS])
    axes.plot(100 * marks / count, 100 * curve[marks - 1], "o", color=LIGHT["accent"], markersize=4)
    highest = max(float(curve[first - 1 :].max()), 1e-3) if top is None else top
    dress(axes, "coverage, % of the samples that are predicted", "% of these that are wrong")
    axes.set(xlim=(0, 101), ylim=(0, 108 * highest))
    return drawn
