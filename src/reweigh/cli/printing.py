"""Tables on the terminal, and plainly elsewhere."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console


def console() -> "Console":
    """Standard output as it is now; wide where there is no terminal, so that a pipe gets whole lines."""
    from rich.console import Console

    found = Console(highlight=False, markup=False, emoji=False)
    return found if found.is_terminal else Console(highlight=False, markup=False, emoji=False, width=160)


def show_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], numbers: bool = False) -> None:
    """Print a table without frames.

    Args:
        numbers: all columns but the first hold numbers and stand at the right.
    """
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for place, column in enumerate(columns):
        right = numbers and place > 0
        justify = "right" if right else "left"
        table.add_column(Text(column), justify=justify, no_wrap=place == 0 or right, overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    console().print(Text(title, "bold"), table)
