"""A matrix of counts between two labelings."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from reweigh.report.figures.style import LIGHT, SMALL, dress, hover, panels, thinned

if TYPE_CHECKING:
    from matplotlib.figure import Figure, SubFigure

NUMBERED = 12  # classes up to which every cell shows its count
NAMED = 60  # classes up to which every class shows its name
HOVER = 60  # classes up to which a cell shows its count on hover
DEEPEST = 0.62  # how opaque a full cell is: letters stay readable on it, in light and in dark


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
        figure: Figure to draw into; a new one by default.
    """
    from matplotlib.colors import to_rgb
    from matplotlib.patches import Rectangle

    share = matrix / np.maximum(matrix.sum(1, keepdims=True), 1)
    pixels = np.empty((*matrix.shape, 4))
    pixels[..., :3] = to_rgb("#2f7dc8")
    pixels[..., 3] = DEEPEST * np.sqrt(share)  # the root makes rare confusions visible
    drawn, axes = panels(figure, max(4.2, 1 + 0.155 * min(len(class_names), NAMED)))
    axes.imshow(pixels, interpolation="none")
    dress(axes, columns, rows, grid="")
    axes.spines["bottom"].set_visible(False)
    ticks, names = thinned(class_names, NAMED)
    crowded = len(class_names) > NUMBERED or max(map(len, names)) > 3
    turned = {"rotation": 90, "rotation_mode": "anchor", "ha": "right", "va": "center"} if crowded else {}
    axes.set_xticks(ticks, names, **turned)
    axes.set_yticks(ticks, names)
    axes.tick_params(length=0)
    if crowded and len(names) > 20:
        axes.tick_params(labelsize=SMALL - 2)
    if len(class_names) <= HOVER:
        for row, column in np.argwhere(matrix > 0):
            words = f"{class_names[row]}, {class_names[column]}: {matrix[row, column]:,} of {matrix[row].sum():,}"
            hover(axes.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, alpha=0)), words)
    if len(class_names) <= NUMBERED:
        for row, column in np.argwhere(matrix > 0):
            text = f"{matrix[row, column]:,}"
            size = SMALL - 1 if len(text) < 4 else SMALL - 2.5
            axes.text(column, row, text, ha="center", va="center", fontsize=size, color=LIGHT["ink"])
    return drawn
