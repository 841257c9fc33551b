"""Histogram of the weights that training gave to the samples."""

from typing import TYPE_CHECKING

import numpy as np

from reweigh.report.figures.style import LIGHT, dress, legend, panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure, SubFigure

BINS = 40


def plot_weights(
    weights: np.ndarray,
    wrong: np.ndarray | None = None,
    max_weight: float | None = None,
    figure: "Figure | SubFigure | None" = None,
) -> "Figure":
    """Distribution of the weights; right and wrong labels separately if it is known which are wrong.

    Each group is drawn in percent of itself, because there are usually fewer wrong labels.

    Args:
        weights: Shape (N,); NaN stands for a sample that was never weighted and is left out.
        wrong: Which labels are wrong, shape (N,) bool.
        max_weight: End of the axis; by default the largest weight.
        figure: Figure to draw into; a new one by default.
    """
    known = np.isfinite(weights)
    weights = weights[known]
    top = max_weight or max(float(weights.max(initial=0)), 1e-6)
    groups = {"all samples": (np.ones(len(weights), bool), LIGHT["accent"])}
    if wrong is not None:
        wrong = wrong[known]
        groups = {"right labels": (~wrong, LIGHT["accent"]), "wrong labels": (wrong, LIGHT["wrong"])}
    drawn, axes = panels(figure, 2.6)
    for name, (mask, color) in groups.items():
        if mask.any():
            share = np.full(mask.sum(), 100 / mask.sum())
            shape = {"bins": BINS, "range": (0, top), "weights": share, "color": color}
            axes.hist(weights[mask], histtype="stepfilled", alpha=0.28, **shape)
            axes.hist(weights[mask], histtype="step", linewidth=1.4, label=name, **shape)
    dress(axes, "weight of a sample", "% of the group" if wrong is not None else "% of the samples")
    axes.set(xlim=(0, top), ylim=(0, None))
    if wrong is not None:
        legend(drawn, axes, columns=2)
    return drawn
