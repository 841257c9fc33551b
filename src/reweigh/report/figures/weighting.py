"""The learned weighting function: weight against loss, one line per family, and the losses of the samples."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import nn

from reweigh.report.figures.style import FAMILIES, LIGHT, LINES, RUNS, dress, legend, panels, shorten
from reweigh.weighting import num_curves

if TYPE_CHECKING:
    from matplotlib.figure import Figure, SubFigure

POINTS = 161


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
        figure: Figure to draw into; a new one by default.
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
    grid = np.linspace(0, end, POINTS)
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
    nets: Mapping[str, nn.Module],
    families: Sequence[str],
    max_loss: float,
    figure: "Figure | SubFigure | None" = None,
    what: str = "loss",
) -> "Figure":
    """The functions of several runs, one panel per family and one line per run.

    Args:
        nets: Weight net of each run. All have the same number of families; one with a single family is drawn in every
            panel.
        families: Names of the families, the rarest first.
        max_loss: End of the axis.
        figure: Figure to draw into; a new one by default.
        what: What the functions read of a sample, the loss or the doubt.
    """
    drawn, found = panels(figure, 0.9 + 1.5 * len(families), nrows=len(families), sharex=True, squeeze=False)
    grid = np.linspace(0, max_loss, POINTS)
    for place, (name, net) in enumerate(nets.items()):
        lines = curves(net, grid)
        look = {"color": RUNS[place % len(RUNS)], "linestyle": LINES[place % len(LINES)], "linewidth": 1.7}
        for family, axes in enumerate(found[:, 0]):
            axes.plot(grid, lines[family % len(lines)], label=shorten(name, 40), **look)
    for family, axes in enumerate(found[:, 0]):
        last = family == len(families) - 1
        dress(axes, f"{what} of a sample" if last else "", f"weight: {shorten(families[family], 44)}")
        axes.set(xlim=(0, max_loss), ylim=(0, None))
    legend(drawn, found[0, 0])
    return drawn


def loss_limit(losses: np.ndarray) -> float:
    """Where a loss axis ends: beyond all but one loss in a thousand; at 7 if none is known."""
    known = losses[np.isfinite(losses)]
    return float(max(np.quantile(known, 0.999), 1e-3)) if len(known) else 7.0
