"""Draw the learned weighting in the terminal: weight against loss, one curve per family."""

from collections.abc import Sequence

import numpy as np
from rich.text import Text

COLORS = ("red", "green", "blue", "magenta", "cyan", "yellow")


def draw(
    curves: Sequence[Sequence[float]],
    labels: Sequence[str],
    max_loss: float,
    what: str = "loss",
    height: int = 11,
    width: int = 60,
) -> Text:
    """A plot of characters; each curve has its own letter and color, so it can be read without colors.

    Where curves meet, the letter of the first is shown.

    Args:
        curves: Weights of each family at two or more evenly spaced losses from 0 to ``max_loss``.
        labels: Description of each family, for the legend.
        what: What the weights depend on.
    """
    top = max(1.0, *(max(curve) for curve in curves))
    grid: list[list[int | None]] = [[None] * width for _ in range(height)]
    for family in reversed(range(len(curves))):  # the first family is drawn last, on top
        columns = np.linspace(0, len(curves[family]) - 1, width)
        weights = np.interp(columns, range(len(curves[family])), curves[family])
        for column, weight in enumerate(np.clip(weights / top, 0, 1)):
            grid[round((1 - weight) * (height - 1))][column] = family
    text = Text("weight\n")
    for row, cells in enumerate(grid):
        share = top * (1 - row / (height - 1))
        text.append(f"{share:5.2f} ┤" if row % 5 == 0 else "      │")
        for family in cells:
            text.append(" " if family is None else letter(family), COLORS[(family or 0) % len(COLORS)])
        text.append("\n")
    text.append("      └" + "─" * width + "\n")
    text.append("       0" + f"{max_loss:.3g}".rjust(width - 1) + f"  {what}\n")
    for family, label in enumerate(labels):
        text.append("  ").append(letter(family), COLORS[family % len(COLORS)]).append(f"  {label}\n")
    return text


def letter(family: int) -> str:
    """The letter that draws a family: a, b, c, ..."""
    return chr(ord("a") + family % 26)
