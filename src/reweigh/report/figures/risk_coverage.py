"""Error rate of the predictions that are kept, by coverage."""

from typing import TYPE_CHECKING

import numpy as np

from reweigh.report.figures.style import LIGHT, dress, panels
from reweigh.selective import LEVELS

if TYPE_CHECKING:
    from matplotlib.figure import Figure, SubFigure

POINTS = 200  # points of the line


def plot_risk_coverage(
    curve: np.ndarray, top: float | None = None, figure: "Figure | SubFigure | None" = None
) -> "Figure":
    """The risk-coverage curve, with marks at the usual coverages.

    Args:
        curve: Shape (n,), the error rate among the 1, 2, ..., n most confident samples
            (``reweigh.selective.risk_coverage``).
        top: End of the error axis, a share; by default the largest error at a coverage of 5 percent or more, since
            below that a few samples decide.
        figure: Figure to draw into; a new one by default.
    """
    drawn, axes = panels(figure, 2.6)
    count = len(curve)
    first = min(count, max(1, round(0.05 * count)))
    counts = np.unique(np.linspace(first, count, POINTS).round().astype(int))
    axes.plot(100 * counts / count, 100 * curve[counts - 1], color=LIGHT["accent"], linewidth=1.7)
    marks = np.unique([max(1, round(level / 100 * count)) for level in LEVELS])
    axes.plot(100 * marks / count, 100 * curve[marks - 1], "o", color=LIGHT["accent"], markersize=4)
    highest = max(float(curve[first - 1 :].max()), 1e-3) if top is None else top
    dress(axes, "coverage, % of samples that are predicted", "% of these that are wrong")
    axes.set(xlim=(0, 101), ylim=(0, 108 * highest))
    return drawn
