"""Print tables, bars and lines: on a terminal with colors, elsewhere plainly."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING
from unicodedata import category

import typer

from reweigh.names import plural

if TYPE_CHECKING:
    from rich.console import Console

    from reweigh.data.tables.decide import ReadAs

MAX_CLASSES = 30  # of more classes than this, only the largest and the smallest are shown
CLASSES_PER_END = 10
MAX_NAME_CHARS = 20  # characters of a class name
BAR_CHARS = 46
HIDDEN = ("Cc", "Cs", "Co")  # control characters, parts of characters, and those without a meaning
DIRECTIONS = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"  # they can disguise text
MAX_COLUMNS = 40  # columns; of more, those that need a look


def console() -> "Console":
    """Standard output as it is now; wide where there is no terminal, so that a pipe gets whole lines."""
    from rich.console import Console

    found = Console(highlight=False, markup=False, emoji=False)
    return found if found.is_terminal else Console(highlight=False, markup=False, emoji=False, width=160)


def visible(text: object) -> str:
    """Text that is safe to print: control characters, which names in a file may contain, are escaped."""
    return "".join(
        ascii(char)[1:-1] if char in DIRECTIONS or (char not in "\n\t" and category(char) in HIDDEN) else char
        for char in str(text)
    )


def echo(text: object = "", err: bool = False) -> None:
    """Print a line; see ``visible``."""
    typer.echo(visible(text), err=err)


def show_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], numbers: bool = False) -> None:
    """Print a table without frames; ``numbers`` aligns all columns but the first at the right."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for position, column in enumerate(columns):
        right = numbers and position > 0
        justify = "right" if right else "left"
        table.add_column(Text(column), justify=justify, no_wrap=position == 0 or right, overflow="fold")
    for row in rows:
        table.add_row(*(Text(visible(cell)) for cell in row))
    console().print(Text(visible(title), "bold"), table)


def bars(sizes: Mapping[str, int]) -> list[str]:
    """Class sizes as bars in 80 columns, one line per class; of very many classes, the largest and the smallest."""
    most = max(sizes.values(), default=0) or 1
    width = min(MAX_NAME_CHARS, max(map(len, sizes), default=0))
    digits = len(str(most))

    def line(name: str) -> str:
        drawn = "█" * max(round(BAR_CHARS * sizes[name] / most), int(sizes[name] > 0))
        return f"  {cut(name, width):{width}}  {sizes[name]:>{digits}}  {drawn}".rstrip()

    if len(sizes) <= MAX_CLASSES:
        return [line(name) for name in sizes]
    by_size = sorted(sizes, key=lambda name: -sizes[name])
    between = f"  ... {len(sizes) - 2 * CLASSES_PER_END} classes between"
    return [*map(line, by_size[:CLASSES_PER_END]), between, *map(line, by_size[-CLASSES_PER_END:])]


def cut(name: str, width: int = MAX_NAME_CHARS) -> str:
    """A name of at most ``width`` characters."""
    return name if len(name) <= width else name[: width - 3] + "..."


def shape_words(shape: Sequence[int]) -> str:
    """What one sample is made of: "20 features", or "3 x 32 x 32"."""
    return plural(shape[0], "feature") if len(shape) == 1 else " x ".join(map(str, shape))


def show_columns(readings: "Sequence[ReadAs]") -> None:
    """A table: column, read as, examples, gaps, what is odd; of very many columns only those that are odd."""
    if not readings:
        return
    shown = list(readings)
    if len(shown) > MAX_COLUMNS:
        shown = [read for read in readings if read.notes or read.gaps][:MAX_COLUMNS]
    cells = [
        [read.name, _kind(read), " | ".join(read.examples), str(read.gaps or "-"), read.notes or "-"] for read in shown
    ]
    if cells:
        show_table("How the columns are read", ["column", "read as", "examples", "gaps", "odd"], cells)
    if rest := Counter(_kind(read) for read in readings if read not in shown):
        words = ", ".join(f"{count:,} as {kind}" for kind, count in rest.most_common())
        echo(f"{rest.total():,}{' more' if cells else ''} columns: {words}.")
    echo("Change it with data.columns.NAME=number, date, category or text, or leave a column out: --drop NAME.\n")


def _kind(read: "ReadAs") -> str:
    return "left out" if read.kind == "drop" else read.kind
