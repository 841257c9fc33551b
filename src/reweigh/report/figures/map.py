"""The samples as points of a plane, colored by class, with a frame where the label looks wrong."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from reweigh.report.figures.style import LIGHT, dress, legend, panels, shorten

if TYPE_CHECKING:
    from matplotlib.figure import Figure, SubFigure

# The hues are those of the review page.
MAX_POINTS = 3_000  # drawn; a picture of them takes 100 kilobytes, whatever the size of the data
HUES = [
    "#1f77b4",
    "#e07b00",
    "#2a9d3a",
    "#d1495b",
    "#8a63d2",
    "#8c6d46",
    "#d65db1",
    "#6b7785",
    "#a3a500",
    "#00a5b5",
]  # as in the review
DOT, FRAME = 3.2, 6.2  # points


def drawn_points(number: int) -> np.ndarray:
    """Which of so many samples a map draws: all, or ``MAX_POINTS`` chosen at random."""
    if number <= MAX_POINTS:
        return np.arange(number)
    return np.sort(np.random.default_rng(0).choice(number, MAX_POINTS, replace=False))


def plot_points(
    points: np.ndarray,
    labels: np.ndarray,
    class_names: Sequence[str],
    suspicious: np.ndarray | None = None,
    figure: "Figure | SubFigure | None" = None,
) -> "Figure":
    """Samples as points, the largest classes in colors and all others in gray.

    Args:
        points: Positions from 0 to 1, shape (N, 2). Of more than ``MAX_POINTS``, a random selection is drawn.
        labels: Class of each sample, shape (N,).
        suspicious: Whether each label looks wrong, shape (N,) bool; these points have a frame.
    """
    chosen = drawn_points(len(points))
    points, labels = points[chosen], labels[chosen]
    sizes = np.bincount(labels, minlength=len(class_names))
    colored = np.argsort(-sizes, kind="stable")[: len(HUES)]
    colored = np.sort(colored[sizes[colored] > 0])
    drawn, axes = panels(figure, 3.9)
    if suspicious is not None:
        dots(axes, points[suspicious[chosen]], LIGHT["ink"], FRAME, "label looks wrong")
    dots(axes, points[~np.isin(labels, colored)], LIGHT["muted"], DOT, "other classes")
    for label, color in zip(colored.tolist(), HUES, strict=False):
        dots(axes, points[labels == label], color, DOT, shorten(class_names[label], 14))
    dress(axes, grid="")
    axes.set(xticks=[], yticks=[], xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    axes.spines["bottom"].set_visible(False)
    legend(drawn, axes, columns=3)
    return drawn


def dots(axes, points: np.ndarray, color: str, size: float, name: str) -> None:
    """Round dots as one path: lines without length, which takes a third of the bytes of single marks."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    if not len(points):
        return
    path = Path(np.repeat(points, 2, axis=0), [Path.MOVETO, Path.LINETO] * len(points))
    path.should_simplify = False
    axes.add_patch(PathPatch(path, fill=False, edgecolor=color, linewidth=size, capstyle="round"))
    axes.plot([], [], "o", markersize=size, color=color, label=name)
