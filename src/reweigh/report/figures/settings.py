"""One number of several runs, by setting."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from reweigh.report.figures.style import LIGHT, dress, panels, shorten

if TYPE_CHECKING:
    from matplotlib.figure import Figure, SubFigure


def plot_settings(
    groups: Mapping[str, Sequence[float]], what: str, figure: "Figure | SubFigure | None" = None
) -> "Figure":
    """A dot for each run and a line at the mean of each setting.

    Args:
        groups: Numbers of the runs of each setting, the first setting on top.
        what: Title of the axis, with its unit.
        figure: Figure to draw into; a new one by default.
    """
    drawn, axes = panels(figure, 0.7 + 0.36 * len(groups))
    for row, values in enumerate(groups.values()):
        height = len(groups) - 1 - row
        axes.plot(values, [height] * len(values), "o", color=LIGHT["accent"], markersize=5, alpha=0.6)
        mean = float(np.mean(values))
        axes.plot([mean, mean], [height - 0.3, height + 0.3], color=LIGHT["ink"], linewidth=1.6)
        axes.annotate(f"{mean:.3g}", (mean, height + 0.3), color=LIGHT["ink"], fontsize=8, ha="center", va="bottom")
    axes.set_yticks(range(len(groups)), [shorten(name, 28) for name in reversed(list(groups))])
    axes.set_ylim(-0.6, len(groups))
    axes.margins(x=0.1)
    dress(axes, what, grid="x")
    return drawn
