"""The learned weighting function: weight against loss, one line a family, and where the losses are."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np
import torch
from torch import Tensor

from reweigh.report.figures.style import FAMILIES, LIGHT, LINES, dress, legend, panels, shorten

if TYPE_CHECKING:
    from matplotlib.figure import Figure, SubFigure

POINTS = 161


class WeightNet(Protocol):
    """What is drawn: ``net(losses, family)`` gives weights, as ``reweigh.weighting.WeightNet`` does."""

    @property
    def num_families(self) -> int: ...

    def __call__(self, losses: Tensor, family: Tensor, /) -> Tensor: ...


def curves(net: WeightNet, losses: np.ndarray) -> np.ndarray:
    """The weight that each family gives to each loss, shape (num_families, len(losses))."""
    parameters = getattr(net, "parameters", lambda: iter(()))
    device = next((parameter.device for parameter in parameters()), torch.device("cpu"))
    given = torch.as_tensor(losses, dtype=torch.float32, device=device)
    with torch.no_grad():
        each = [net(given, torch.full_like(given, place, dtype=torch.int64)) for place in range(net.num_families)]
    return torch.stack(each).cpu().double().numpy()


def plot_weighting(
    net: WeightNet,
    losses: np.ndarray | None = None,
    labels: Sequence[str] | None = None,
    max_loss: float | None = None,
    figure: "Figure | SubFigure | None" = None,
) -> "Figure":
    """How much a sample counts, given its loss.

    Args:
        net: the weight net.
        losses: of the training samples, shape (N,); their histogram stands under the lines.
        labels: of the families, the rarest first.
        max_loss: where the axis ends; by default just beyond the losses.
        figure: draw into this one.
    """
    known = np.empty(0) if losses is None else losses[np.isfinite(losses)]
    end = max_loss or loss_limit(known)
    names = labels or [f"family {place}" for place in range(net.num_families)]
    rows = 2 if len(known) else 1
    drawn, found = panels(
        figure, 3.6 if rows == 2 else 2.7, nrows=rows, sharex=True, squeeze=False, height_ratios=[3, 1][:rows]
    )
    axes = found[:, 0]
    grid = np.linspace(0, end, POINTS)
    for place, curve in enumerate(curves(net, grid)):
        color, dashes = FAMILIES[place % len(FAMILIES)], LINES[place % len(LINES)]
        axes[0].plot(grid, curve, color=color, linestyle=dashes, linewidth=2, label=shorten(names[place], 44))
    dress(axes[0], "" if rows == 2 else "loss of a sample", "weight")
    axes[0].set(xlim=(0, end), ylim=(0, None))
    if rows == 2:
        shape = {"bins": 48, "range": (0, end), "histtype": "stepfilled", "log": True}
        axes[1].hist(np.clip(known, 0, end), color=LIGHT["muted"], alpha=0.55, **shape)
        dress(axes[1], "loss of a sample", "training samples with that loss")
        axes[1].set_ylim(bottom=0.7)
        axes[1].minorticks_off()
        axes[1].yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    legend(drawn, axes[0])
    return drawn


def loss_limit(losses: np.ndarray) -> float:
    """Where an axis of losses ends: beyond all but one in a thousand; at 7, surely wrong, if none is known."""
    known = losses[np.isfinite(losses)]
    return float(max(np.quantile(known, 0.999), 1e-3)) if len(known) else 7.0
