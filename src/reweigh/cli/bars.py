"""Sizes as bars of characters, readable in 80 columns and in a pipe."""

from collections.abc import Mapping

LISTED = 30  # of more classes than this, only the largest and the smallest are shown
ENDS = 10
NAME = 20  # characters of a class name
BAR = 46


def bars(sizes: Mapping[str, int]) -> list[str]:
    """A line for each class in order; of very many, those of the largest and the smallest by size."""
    most = max(sizes.values(), default=0) or 1
    width = min(NAME, max(map(len, sizes), default=0))
    digits = len(str(most))

    def line(name: str) -> str:
        drawn = "█" * max(round(BAR * sizes[name] / most), int(sizes[name] > 0))
        return f"  {cut(name, width):{width}}  {sizes[name]:>{digits}}  {drawn}".rstrip()

    if len(sizes) <= LISTED:
        return [line(name) for name in sizes]
    by_size = sorted(sizes, key=lambda name: -sizes[name])
    between = f"  ... {len(sizes) - 2 * ENDS} classes between"
    return [*map(line, by_size[:ENDS]), between, *map(line, by_size[-ENDS:])]


def cut(name: str, width: int) -> str:
    """A name of at most ``width`` characters."""
    return name if len(name) <= width else name[: width - 3] + "..."
