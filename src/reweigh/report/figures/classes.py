"""Accuracy of each class next to the number of its training samples."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from reweigh.report.figures.style import LIGHT, SMALL, dress, hover, panels, shorten

if TYPE_CHECKING:
    from matplotlib.figure import Figure, SubFigure

NAME = 36  # letters of a class name; bars give way to it


def plot_class_accuracy(
    accuracy: np.ndarray, sizes: np.ndarray, class_names: Sequence[str], figure: "Figure | SubFigure | None" = None
) -> "Figure":
    """Two bars for each class, the largest class on top.

    Args:
        accuracy: Accuracy of each class, shape (num_classes,), from 0 to 1; NaN for a class without test samples.
        sizes: Number of training samples by given label, shape (num_classes,).
        figure: Figure to draw into; a new one by default.
    """
    order = np.argsort(sizes, kind="stable")
    rows = np.arange(len(order))
    drawn, (left, right) = panels(figure, 0.75 + 0.24 * len(order), ncols=2, sharey=True, width_ratios=[3, 2])
    for axes, values, color, texts in (
        (left, 100 * accuracy[order], LIGHT["accent"], [f"{100 * value:.0f}" for value in accuracy[order]]),
        (right, sizes[order], LIGHT["muted"], [f"{value:,.0f}" for value in sizes[order]]),
    ):
        bars = axes.barh(rows, np.nan_to_num(values), color=color, alpha=0.5, height=0.68)
        for bar, label, text in zip(bars, order, texts, strict=True):
            hover(bar, f"{class_names[label]}: {text}")
        for row, value, text in zip(rows, values, texts, strict=True):
            known = np.isfinite(value)
            axes.annotate(
                text if known else "no test samples",
                (value if known else 0, row),
                (3, 0),
                textcoords="offset points",
                va="center",
                fontsize=SMALL - 1,
                color=LIGHT["ink"],
            )
    dress(left, "", "test accuracy, %", grid="")
    dress(right, "", "samples", grid="")
    left.set(xlim=(0, 114), ylim=(-0.6, len(order) - 0.4))
    right.set_xlim(0, 1.4 * max(sizes.max(initial=1), 1))
    left.set_yticks(rows, [shorten(class_names[label], NAME) for label in order])
    for axes in (left, right):
        axes.set_xticks([])
        axes.spines["bottom"].set_visible(False)
    return drawn


def plot_accuracy_by_size(
    accuracy: np.ndarray, sizes: np.ndarray, figure: "Figure | SubFigure | None" = None
) -> "Figure":
    """One dot per class, for too many classes to draw bars.

    Args:
        accuracy: Accuracy of each class, shape (num_classes,), from 0 to 1.
        sizes: Number of training samples, shape (num_classes,).
        figure: Figure to draw into; a new one by default.
    """
    drawn, axes = panels(figure, 3)
    axes.plot(sizes, 100 * accuracy, "o", color=LIGHT["accent"], alpha=0.6, markersize=4, markeredgewidth=0)
    if sizes.max(initial=1) > 5 * max(sizes.min(initial=1), 1):
        axes.set_xscale("log")
        axes.minorticks_off()
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    dress(axes, "training samples of the class", "test accuracy of the class, %")
    axes.set_ylim(-3, 103)
    return drawn
