"""What a page is made of: sections, in each a panel for each run, in each words, figures, cards or a table."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from reweigh.report.families import Family

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Plot(NamedTuple):
    """A figure and what it shows.

    Attributes:
        caption: what is drawn, in a few words.
        alternative: what it shows, in numbers, for those who cannot see it.
    """

    figure: "Figure | Any"
    caption: str
    alternative: str


class Column(NamedTuple):
    """A column of a table; numbers stand at the right and are sorted as numbers."""

    name: str
    numbers: bool = False


class Table(NamedTuple):
    """A table; the first cell of a row names it.

    Attributes:
        rows: cells as shown.
        sorted_by: the column that the rows are sorted by, ascending; None if the reader cannot sort it.
    """

    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[str]]
    sorted_by: int | None = None


class Card(NamedTuple):
    """A sample of the gallery.

    Attributes:
        title: place in the training set, or file name.
        image: a data URI, or nothing.
        values: name and value of some columns.
        more: how many columns are not shown.
        facts: name and value of what training says.
    """

    title: str
    given: str
    suggested: str
    image: str = ""
    values: Sequence[tuple[str, str]] = ()
    more: int = 0
    facts: Sequence[tuple[str, str]] = ()


class Panel(NamedTuple):
    """What a section says of one run.

    Attributes:
        commands: what a command is good for, and the command.
        code: a text to be shown letter by letter.
    """

    words: Sequence[str] = ()
    plots: Sequence[Plot] = ()
    families: Sequence[Family] = ()
    cards: Sequence[Card] = ()
    table: Table | None = None
    commands: Sequence[tuple[str, str]] = ()
    code: str = ""


class Section(NamedTuple):
    """A section of the page.

    Attributes:
        lead: what the section is about, for all runs.
        panels: one for each run; none if a table tells of all runs together.
        together: that table.
        wide: a panel needs the whole width, so runs stand one below the other.
    """

    title: str
    lead: str = ""
    panels: Sequence[Panel] = ()
    together: Table | None = None
    wide: bool = False
