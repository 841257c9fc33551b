"""The look of figures: one palette, thin axes without a frame, and names that fit."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

WIDTH = 4.4  # inches; narrow, so that the letters stay readable on a phone
SMALL = 9.5  # points

# Roles of colors. Figures are drawn in the light ones; the page replaces each by a variable of that name.
LIGHT = {
    "ink": "#1c2127",
    "muted": "#5a646f",
    "line": "#d9dee4",
    "accent": "#1c5a9e",
    "wrong": "#c5321f",
    "family-0": "#c77800",
    "family-1": "#00876c",
    "family-2": "#1c5a9e",
    "family-3": "#b05f9c",
}
DARK = {
    "ink": "#e8eaed",
    "muted": "#a3acb6",
    "line": "#363c44",
    "accent": "#6fa8f0",
    "wrong": "#ff7d66",
    "family-0": "#f0a93b",
    "family-1": "#3fc9a5",
    "family-2": "#6fa8f0",
    "family-3": "#f0a8dc",
}
FAMILIES = [LIGHT[f"family-{family}"] for family in range(4)]
RUNS = [LIGHT["accent"], *FAMILIES[:2], FAMILIES[3], LIGHT["muted"]]  # lines that are not families
HOVER = "hover-"  # how the id of a mark with words begins
LINES: list[Any] = ["-", (0, (5, 1.5)), (0, (1.2, 1.2)), (0, (5, 1.2, 1.2, 1.2)), (0, (9, 2))]


def panels(figure: "Figure | SubFigure | None", height: float, **grid: Any) -> "tuple[Any, Any]":
    """A figure and its axes.

    Args:
        figure: Figure to draw into, such as ``pyplot.figure()``; a new one by default.
    """
    from matplotlib.figure import Figure

    if figure is None:
        figure = Figure(figsize=(WIDTH, height), layout="constrained")
    return figure, figure.subplots(**grid)


def dress(axes: "Axes", x: str = "", y: str = "", grid: str = "y") -> None:
    """Thin gray axes; the title of the vertical axis is above it, where it reads horizontally.

    Args:
        grid: Direction of the grid lines, "x" or "y"; empty for none.
    """
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(LIGHT["line"])
    axes.tick_params(colors=LIGHT["line"], labelcolor=LIGHT["muted"], labelsize=SMALL, length=3)
    axes.tick_params(axis="y", length=0)
    axes.set_axisbelow(True)
    if grid in ("x", "y"):
        axes.grid(axis=grid, color=LIGHT["line"], linewidth=0.6)
    axes.set_xlabel(x, color=LIGHT["muted"], fontsize=SMALL)
    axes.set_title(y, color=LIGHT["muted"], fontsize=SMALL, loc="left")


def legend(figure: "Figure | SubFigure", axes: "Axes", columns: int = 1) -> None:
    """A legend above the axes, where it hides nothing."""
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(
        handles,
        labels,
        loc="outside upper left",
        ncols=columns,
        frameon=False,
        fontsize=SMALL,
        labelcolor=LIGHT["ink"],
        handlelength=2.4,
        borderaxespad=0,
        borderpad=0,
    )


def hover(artist: "Artist", words: str) -> None:
    """Let the page show some words when the reader hovers over a mark."""
    artist.set_gid(HOVER + words.encode("utf-8", "replace").hex())  # an id holds no other letters


def shorten(name: object, length: int = 20) -> str:
    """A name for an axis: on one line, not too long, and never read as a formula."""
    text = "".join(letter if letter.isprintable() else " " for letter in str(name))
    text = " ".join(text.split())
    text = text if len(text) <= length else text[: length - 1].rstrip() + "…"
    return text.replace("$", r"\$")


def thinned(names: Sequence[str], most: int) -> tuple[list[int], list[str]]:
    """Positions and short names of at most ``most`` classes, so that their labels do not collide."""
    step = -(-len(names) // most)
    positions = list(range(0, len(names), step))
    return positions, [shorten(names[position]) for position in positions]
