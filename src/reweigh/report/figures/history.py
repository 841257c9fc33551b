"""Metrics over the epochs, one line each."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from reweigh.report.figures.style import LINES, RUNS, dress, legend, panels, shorten

if TYPE_CHECKING:
    from matplotlib.figure import Figure, SubFigure


def plot_history(
    epochs: Sequence[int],
    lines: Mapping[str, Sequence[float]],
    what: str,
    log: bool = False,
    figure: "Figure | SubFigure | None" = None,
) -> "Figure":
    """How metrics changed during training.

    Args:
        epochs: Shape (n,).
        lines: n numbers for each name; NaN leaves a gap.
        what: Title of the vertical axis, with its unit.
        log: Whether to use a logarithmic axis if all known numbers are positive.
        figure: Figure to draw into; a new one by default.
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
    if len(epochs):  # all of them, also where a number is known of a few only
        axes.set_xlim(epochs[0] - 0.25, epochs[-1] + 0.25)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=6))
    dress(axes, "epoch", what)
    if len(lines) > 1:
        legend(drawn, axes, columns=2)
    return drawn
