"""What a page is made of: sections with one panel per run, each with text, figures, cards or a table."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from reweigh.data.viewer import Shown
from reweigh.runs.words import Family

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Plot(NamedTuple):
    """A figure and what it shows.

    Attributes:
        alternative: What it shows, in numbers, for readers who cannot see it.
    """

    figure: "Figure | Any"
    caption: str
    alternative: str


class Column(NamedTuple):
    """A column of a table; numbers are right-aligned and sorted as numbers."""

    name: str
    numbers: bool = False


class Table(NamedTuple):
    """A table; the first cell of a row is its header.

    Attributes:
        sorted_by: Column that the rows are sorted by, ascending; None if the reader cannot sort the table.
    """

    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[str]]
    sorted_by: int | None = None
    folded: bool = False


class Card(NamedTuple):
    """A sample of the gallery.

    Attributes:
        title: Row in the user's data, and file name or id.
    """

    title: str
    given: str
    suggested: str
    facts: Sequence[tuple[str, str]]
    shown: Shown


class Panel(NamedTuple):
    """The content of a section for one run.

    Attributes:
        commands: Purpose of a command, and the command.
        code: Text to be shown verbatim.
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
        lead: What the section is about, for all runs.
        panels: One per run.
        together: A table of all runs.
        overlaid: Figures with one line per run.
        wide: Whether a panel needs the whole width, so that runs are shown one below the other.
    """

    title: str
    lead: str = ""
    panels: Sequence[Panel] = ()
    together: Table | None = None
    overlaid: Sequence[Plot] = ()
    wide: bool = False
    folded: bool = False


def each_run(
    title: str,
    lead: str,
    panel: Callable[[Any], Panel],
    *,
    optional: bool = False,
    wide: bool = False,
    folded: bool = False,
) -> Callable[[Sequence[Any]], Section | None]:
    """What makes a section with a panel for each run from the accounts of the runs.

    Args:
        panel: Makes the panel of an account.
        optional: Whether the section is left out if no run has a figure or a table.
    """

    def made(accounts: Sequence[Any]) -> Section | None:
        panels = [panel(account) for account in accounts]
        shown = any(each.plots or each.table for each in panels)
        return Section(title, lead, panels, wide=wide, folded=folded) if shown or not optional else None

    return made
