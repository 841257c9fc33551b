"""Losses of the samples of each class, and weights of all samples, as distributions."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from reweigh.report.figures.style import LIGHT, dress, legend, panels, shorten
from reweigh.report.figures.weighting import loss_limit

if TYPE_CHECKING:
    from matplotlib.figure import Figure, SubFigure

BINS = 64
HEIGHT = 0.88  # height of the highest peak; 1 is the distance between two classes


def plot_losses(
    losses: np.ndarray,
    labels: np.ndarray,
    class_names: Sequence[str],
    wrong: np.ndarray | None = None,
    max_loss: float | None = None,
    figure: "Figure | SubFigure | None" = None,
    what: str = "given label",
) -> "Figure":
    """The density of the losses of each class.

    Heights are square roots of densities, so that the few samples of high loss are visible.

    Args:
        losses: Losses of the samples, shape (N,).
        labels: Given labels, shape (N,); samples of classes without a name are left out.
        class_names: Names of class 0, 1, ...; one row each, the first on top.
        wrong: Which labels are wrong, shape (N,) bool; they are drawn in their own color.
        max_loss: End of the axis; by default just beyond the losses.
        figure: Figure to draw into; a new one by default.
        what: Title of the rows.
    """
    known = np.isfinite(losses)
    end = max_loss or loss_limit(losses[known])
    grid = (np.arange(BINS) + 0.5) * end / BINS
    drawn, axes = panels(figure, 0.9 + 0.3 * len(class_names))
    for row, _ in enumerate(class_names):
        own = known & (labels == row)
        base = len(class_names) - 1 - row
        total = np.sqrt(smooth(losses[own], end))
        scale = HEIGHT / max(total.max(), 1e-12)
        shapes = [(total, LIGHT["accent"], 0.3)]
        if wrong is not None and (own & wrong).any():
            shapes.append((np.sqrt(smooth(losses[own & wrong], end)), LIGHT["wrong"], 0.5))
        for heights, color, alpha in shapes:
            outline = np.r_[0, 0, grid, end, end], base + scale * np.r_[0, heights[0], heights, heights[-1], 0]
            axes.fill(*outline, facecolor=(color, alpha), edgecolor=color, linewidth=0.8)
    dress(axes, "loss of a sample", what, grid="")
    axes.set(xlim=(0, end), ylim=(-0.08, len(class_names)))
    axes.set_yticks(range(len(class_names)), [shorten(name) for name in reversed(class_names)])
    axes.hlines(range(len(class_names)), 0, end, color=LIGHT["line"], linewidth=0.6, zorder=0)
    if wrong is not None:
        axes.fill([], [], facecolor=(LIGHT["accent"], 0.3), edgecolor=LIGHT["accent"], label="all samples")
        axes.fill([], [], facecolor=(LIGHT["wrong"], 0.5), edgecolor=LIGHT["wrong"], label="wrong labels among them")
        legend(drawn, axes, columns=2)
    return drawn


def smooth(losses: np.ndarray, end: float) -> np.ndarray:
    """A histogram up to ``end``, larger losses in the last bin, smoothed by a Gaussian that keeps the sum."""
    counts, _ = np.histogram(np.clip(losses, 0, end), bins=BINS, range=(0, end))
    reach = np.arange(-5, 6)
    kernel = np.exp(-0.5 * (reach / 1.5) ** 2)
    padded = np.pad(counts.astype(float), 5, mode="symmetric")  # what would leave at an end comes back
    return np.convolve(padded, kernel / kernel.sum(), mode="valid")


def plot_weights(
    weights: np.ndarray,
    wrong: np.ndarray | None = None,
    max_weight: float | None = None,
    figure: "Figure | SubFigure | None" = None,
) -> "Figure":
    """Distribution of the weights; right and wrong labels separately if it is known which are wrong.

    Each group is drawn in percent of itself, because there are usually fewer wrong labels.

    Args:
        weights: Weights of the samples, shape (N,); NaN for a sample that was never weighted, which is left out.
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
            shape = {"bins": 40, "range": (0, top), "weights": share, "color": color}
            axes.hist(weights[mask], histtype="stepfilled", alpha=0.28, **shape)
            axes.hist(weights[mask], histtype="step", linewidth=1.4, label=name, **shape)
    dress(axes, "weight of a sample", "% of the group" if wrong is not None else "% of the samples")
    axes.set(xlim=(0, top), ylim=(0, None))
    if wrong is not None:
        legend(drawn, axes, columns=2)
    return drawn
