"""Print how the columns of a table are read."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from reweigh.cli.printing import echo, show_table

if TYPE_CHECKING:
    from reweigh.data.tables.decide import ReadAs

MOST = 40  # columns; of more, those that need a look


def show_columns(readings: "Sequence[ReadAs]") -> None:
    """A table: column, read as, examples, gaps, what is odd; of very many columns only those that are odd."""
    if not readings:
        return
    shown = list(readings)
    if len(shown) > MOST:
        shown = [read for read in readings if read.odd or read.gaps][:MOST]
    cells = [
        [read.name, _kind(read), " | ".join(read.examples), str(read.gaps or "-"), read.odd or "-"] for read in shown
    ]
    if cells:
        show_table("How the columns are read", ["column", "read as", "examples", "gaps", "odd"], cells)
    if rest := Counter(_kind(read) for read in readings if read not in shown):
        words = ", ".join(f"{count:,} as {kind}" for kind, count in rest.most_common())
        echo(f"{rest.total():,}{' more' if cells else ''} columns: {words}.")
    echo("Change it with data.columns.NAME=number, date, category or text, or leave a column out: --drop NAME.\n")


def _kind(read: "ReadAs") -> str:
    return "left out" if read.kind == "drop" else read.kind
