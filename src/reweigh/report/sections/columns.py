"""Section: how the columns of a table were read."""

from collections.abc import Sequence

from reweigh.data.tables.decide import ReadAs
from reweigh.errors import DataError
from reweigh.files import read_text
from reweigh.fit.inputs import InputForm
from reweigh.report.content import Column, Panel, Section, Table
from reweigh.runs.account import Account
from reweigh.training import Run

MOST = 200  # columns
LEAD = (
    "The kind of a column is decided from all of its cells; cells that do not fit count as gaps. To choose it, "
    "set data.columns.NAME=KIND."
)


def columns(accounts: Sequence[Account]) -> Section | None:
    """How each run read its table; None if none was trained on one."""
    panels = [panel(found) if (found := readings_of(account)) else Panel(["Not a table."]) for account in accounts]
    return Section("Columns", LEAD, panels, wide=True, folded=True) if any(panel.table for panel in panels) else None


def readings_of(account: Account) -> Sequence[ReadAs]:
    """How the columns were read, as the run stores it; empty if it was not trained on a table, or has not ended."""
    file = Run(account.path).inputs
    try:
        encoding = InputForm.from_json(read_text(file), str(file)).encoding if file.is_file() else None
    except DataError:
        return ()
    return () if encoding is None else encoding.readings


def panel(readings: Sequence[ReadAs]) -> Panel:
    """One run; of very many columns those that are odd, or have gaps, come first."""
    shown = sorted(readings, key=lambda read: not (read.odd or read.gaps))[:MOST] if len(readings) > MOST else readings
    cells = [
        (
            read.name,
            "left out" if read.kind == "drop" else read.kind,
            " | ".join(read.examples),
            str(read.gaps),
            read.odd,
        )
        for read in shown
    ]
    heads = [Column("column"), Column("read as"), Column("examples"), Column("gaps", True), Column("odd")]
    words = [f"{len(readings) - len(shown):,} more columns are in inputs.json."] if len(shown) < len(readings) else []
    return Panel(words, table=Table("How the columns were read", heads, cells))
