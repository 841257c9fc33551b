"""Accuracy and size of each class, and a matrix of counts between two labelings."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from reweigh.report.figures.style import LIGHT, SMALL, dress, hover, panels, shorten, thinned

if TYPE_CHECKING:
    from matplotlib.figure import Figure, SubFigure


MAX_NAME_LETTERS = 36  # letters of a class name; bars give way to it
MAX_NUMBERED_CLASSES = 12  # classes up to which every cell shows its count
MAX_NAMED_CLASSES = 60  # classes up to which every class shows its name
MAX_HOVER_CLASSES = 60  # classes up to which a cell shows its count on hover
MAX_OPACITY = 0.62  # how opaque a full cell is: letters stay readable on it, in light and in dark


def plot_class_accuracy(
    accuracy: np.ndarray, sizes: np.ndarray, class_names: Sequence[str], figure: "Figure | SubFigure | None" = None
) -> "Figure":
    """Two bars for each class, the largest class on top.

    Args:
        accuracy: Accuracy of each class, shape (num_classes,), from 0 to 1; NaN for a class without test samples.
        sizes: Number of training samples by given label, shape (num_classes,).
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
    left.set_yticks(rows, [shorten(class_names[label], MAX_NAME_LETTERS) for label in order])
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


def known(rows: np.ndarray, columns: np.ndarray, num_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """The pairs of which both labels are known, as class numbers."""
    both = (rows >= 0) & (rows < num_classes) & (columns >= 0) & (columns < num_classes)
    return rows[both].astype(int), columns[both].astype(int)


def counts(rows: np.ndarray, columns: np.ndarray, num_classes: int) -> np.ndarray:
    """How often each pair of known labels occurs, shape (num_classes, num_classes)."""
    return np.bincount(rows * num_classes + columns, minlength=num_classes**2).reshape(num_classes, num_classes)


def plot_matrix(
    matrix: np.ndarray,
    class_names: Sequence[str],
    rows: str = "label",
    columns: str = "predicted class",
    figure: "Figure | SubFigure | None" = None,
) -> "Figure":
    """Counts, colored by their share of the row.

    Args:
        matrix: Shape (num_classes, num_classes).
        rows: Title of the rows.
        columns: Title of the columns.
    """
    from matplotlib.colors import to_rgb
    from matplotlib.patches import Rectangle

    share = matrix / np.maximum(matrix.sum(1, keepdims=True), 1)
    pixels = np.empty((*matrix.shape, 4))
    pixels[..., :3] = to_rgb("#2f7dc8")
    pixels[..., 3] = MAX_OPACITY * np.sqrt(share)  # the root makes rare confusions visible
    drawn, axes = panels(figure, max(4.2, 1 + 0.155 * min(len(class_names), MAX_NAMED_CLASSES)))
    axes.imshow(pixels, interpolation="none")
    dress(axes, columns, rows, grid="")
    axes.spines["bottom"].set_visible(False)
    ticks, names = thinned(class_names, MAX_NAMED_CLASSES)
    crowded = len(class_names) > MAX_NUMBERED_CLASSES or max(map(len, names)) > 3
    turned = {"rotation": 90, "rotation_mode": "anchor", "ha": "right", "va": "center"} if crowded else {}
    axes.set_xticks(ticks, names, **turned)
    axes.set_yticks(ticks, names)
    axes.tick_params(length=0)
    if crowded and len(names) > 20:
        axes.tick_params(labelsize=SMALL - 2)
    if len(class_names) <= MAX_HOVER_CLASSES:
        for row, column in np.argwhere(matrix > 0):
            words = f"{class_names[row]}, {class_names[column]}: {matrix[row, column]:,} of {matrix[row].sum():,}"
            hover(axes.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, alpha=0)), words)
    if len(class_names) <= MAX_NUMBERED_CLASSES:
        for row, column in np.argwhere(matrix > 0):
            text = f"{matrix[row, column]:,}"
            size = SMALL - 1 if len(text) < 4 else SMALL - 2.5
            axes.text(column, row, text, ha="center", va="center", fontsize=size, color=LIGHT["ink"])
    return drawn
