"""The learned weighting function, and weights and losses of the samples as distributions."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import nn

from reweigh.report.figures.style import FAMILIES, LIGHT, LINES, RUNS, dress, legend, panels, shorten
from reweigh.weighting import num_curves

if TYPE_CHECKING:
    from matplotlib.figure import Figure, SubFigure


NUM_POINTS = 161
NUM_BINS = 64
PEAK_HEIGHT = 0.88  # height of the highest peak; 1 is the distance between two classes


def curves(net: nn.Module, losses: np.ndarray) -> np.ndarray:
    """The weight that each family gives to each loss, shape (num_families, len(losses))."""
    device = next((parameter.device for parameter in net.parameters()), torch.device("cpu"))
    given = torch.as_tensor(losses, dtype=torch.float32, device=device)
    families = [torch.full_like(given, family, dtype=torch.int64) for family in range(num_curves(net, 1))]
    with torch.no_grad():
        return torch.stack([net(given, family) for family in families]).cpu().double().numpy()


def plot_weighting(
    net: nn.Module,
    losses: np.ndarray | None = None,
    labels: Sequence[str] | None = None,
    max_loss: float | None = None,
    figure: "Figure | SubFigure | None" = None,
    what: str = "loss",
) -> "Figure":
    """How much a sample counts, given its loss.

    Args:
        net: The weight net, called as ``net(losses, family)``.
        losses: Losses of the training samples, shape (N,); their histogram is drawn below the lines.
        labels: Names of the families, the rarest first.
        max_loss: End of the axis; by default just beyond the losses.
        what: What the function reads of a sample, the loss or the doubt.
    """
    known = np.empty(0) if losses is None else losses[np.isfinite(losses)]
    end = max_loss or loss_limit(known)
    names = labels or [f"family {family}" for family in range(num_curves(net, 1))]
    rows = 2 if len(known) else 1
    drawn, found = panels(
        figure, 3.6 if rows == 2 else 2.7, nrows=rows, sharex=True, squeeze=False, height_ratios=[3, 1][:rows]
    )
    axes = found[:, 0]
    grid = np.linspace(0, end, NUM_POINTS)
    for family, curve in enumerate(curves(net, grid)):
        color, dashes = FAMILIES[family % len(FAMILIES)], LINES[family % len(LINES)]
        axes[0].plot(grid, curve, color=color, linestyle=dashes, linewidth=2, label=shorten(names[family], 44))
    dress(axes[0], "" if rows == 2 else f"{what} of a sample", "weight")
    axes[0].set(xlim=(0, end), ylim=(0, None))
    if rows == 2:
        shape = {"bins": 48, "range": (0, end), "histtype": "stepfilled", "log": True}
        axes[1].hist(np.clip(known, 0, end), color=LIGHT["muted"], alpha=0.55, **shape)
        dress(axes[1], f"{what} of a sample", f"training samples with that {what}")
        axes[1].set_ylim(bottom=0.7)
        axes[1].minorticks_off()
        axes[1].yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    legend(drawn, axes[0])
    return drawn


def plot_weightings(
    nets: Mapping[str, nn.Module], families: Sequence[str], max_loss: float, figure: "Figure | SubFigure | None" = None
) -> "Figure":
    """The functions of several runs, one panel per family and one line per run.

    Args:
        nets: Weight net of each run. All have the same number of families; one with a single family is drawn in every
            panel.
        families: Names of the families, the rarest first.
        max_loss: End of the axis.
    """
    drawn, found = panels(figure, 0.9 + 1.5 * len(families), nrows=len(families), sharex=True, squeeze=False)
    grid = np.linspace(0, max_loss, NUM_POINTS)
    for place, (name, net) in enumerate(nets.items()):
        lines = curves(net, grid)
        look = {"color": RUNS[place % len(RUNS)], "linestyle": LINES[place % len(LINES)], "linewidth": 1.7}
        for family, axes in enumerate(found[:, 0]):
            axes.plot(grid, lines[family % len(lines)], label=shorten(name, 40), **look)
    for family, axes in enumerate(found[:, 0]):
        last = family == len(families) - 1
        dress(axes, "loss of a sample" if last else "", f"weight: {shorten(families[family], 44)}")
        axes.set(xlim=(0, max_loss), ylim=(0, None))
    legend(drawn, found[0, 0])
    return drawn


def loss_limit(losses: np.ndarray) -> float:
    """Where a loss axis ends: beyond all but one loss in a thousand; at 7 if none is known."""
    known = losses[np.isfinite(losses)]
    return float(max(np.quantile(known, 0.999), 1e-3)) if len(known) else 7.0


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
        what: Title of the rows.
    """
    known = np.isfinite(losses)
    end = max_loss or loss_limit(losses[known])
    grid = (np.arange(NUM_BINS) + 0.5) * end / NUM_BINS
    drawn, axes = panels(figure, 0.9 + 0.3 * len(class_names))
    for row, _ in enumerate(class_names):
        own = known & (labels == row)
        base = len(class_names) - 1 - row
        total = np.sqrt(smooth(losses[own], end))
        scale = PEAK_HEIGHT / max(total.max(), 1e-12)
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
    from scipy.ndimage import gaussian_filter1d

    counts, _ = np.histogram(np.clip(losses, 0, end), bins=NUM_BINS, range=(0, end))
    return gaussian_filter1d(counts.astype(float), 1.5, radius=5)


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
