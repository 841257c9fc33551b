"""Tables as CSV, and their cells that a spreadsheet would run as formulas."""

import csv
import io
import logging
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

log = logging.getLogger(__name__)
STARTS = ("=", "+", "-", "@", "\t", "\r")
HARMLESS = re.compile(r"[-+]+ ?[\d.,'’ ]*[%€$£¥]?")  # numbers in any notation, and dashes for a gap


def is_formula(cell: Any) -> bool:
    """Whether a spreadsheet would take a cell for a formula; numbers are not formulas."""
    if not isinstance(cell, str) or not cell.startswith(STARTS) or HARMLESS.fullmatch(cell):
        return False
    try:
        float(cell)
    except ValueError:
        return True
    return False


def to_csv(rows: Sequence[Sequence[Any]], path: Path, spreadsheet_safe: bool = False) -> str:
    """Rows as CSV; formulas are written as text on request, otherwise unchanged and with a warning."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(
        [[as_text(cell) for cell in row] for row in rows] if spreadsheet_safe else rows
    )
    if not spreadsheet_safe:
        warn_of_formulas(rows, path)
    return text.getvalue()


def warn_of_formulas(rows: Iterable[Sequence[Any]], path: Path) -> None:
    """Log a warning if a spreadsheet would run some cells."""
    if found := sum(is_formula(cell) for row in rows for cell in row):
        log.warning(
            "%s: %d cells begin with =, +, - or @, and a spreadsheet would run them as formulas; --spreadsheet-safe "
            "writes them as text",
            path,
            found,
        )


def as_text(cell: Any) -> Any:
    """A cell that a spreadsheet shows as it is: a formula gets an apostrophe in front."""
    return f"'{cell}" if is_formula(cell) else cell
