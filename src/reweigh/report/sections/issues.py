"""Section: the table of labels that look wrong."""

import math
import shlex
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from reweigh.report.account import Account
from reweigh.report.content import Column, Panel, Section, Table
from reweigh.report.families import name as family_name
from reweigh.report.words import UNKNOWN, percent, several
from reweigh.weighting import num_curves

MOST = 500  # rows for one run
ALTOGETHER = 2000  # rows of all runs: the page stays small
LEAD = (
    "Quality says how well the given label fits, from 0 (not at all) to 1. Sort by any column. Start at the top, and "
    "stop where most labels turn out to be right."
)


def issues(accounts: Sequence[Account]) -> Section:
    """The labels to look at."""
    most = min(MOST, ALTOGETHER // len(accounts))
    return Section("Labels to look at", LEAD, [panel(account, most) for account in accounts], wide=True)


def panel(account: Account, most: int) -> Panel:
    """One run.

    Args:
        most: Number of rows in the table.
    """
    samples = account.samples
    if samples is None or samples.issue is None:
        return Panel(["The run does not say which labels look wrong."])
    rows, labels = samples.suspects, int(samples.labeled.sum())
    if not len(rows):
        return Panel([f"None of the {several(labels, 'training label')} looks wrong."])
    words = [f"{len(rows):,} of {labels:,} training labels look wrong ({percent(len(rows) / labels)})."]
    if samples.wrong is not None:
        hits = int(samples.wrong[rows].sum())
        words.append(
            f"Compared with the true labels, {percent(hits / len(rows))} of these are indeed wrong, and they are "
            f"{percent(hits / samples.wrong.sum())} of all wrong labels."
        )
    if len(rows) > most:
        words.append(f"The table shows the {most:,} worst; {len(rows) - most:,} more are in samples.csv.")
    command = shlex.join(["reweigh", "issues", str(account.path), "--out", "issues.csv"])
    return Panel(words, table=table(account, rows[:most]), commands=[("To write them all to a file", command)])


def table(account: Account, rows: np.ndarray) -> Table:
    """The table of some samples, with the columns that the run has."""
    samples, label = account.samples, account.classes.name
    assert samples is not None
    count = 0 if samples.family is None else int(samples.family.max()) + 1
    count = num_curves(account.net, count)
    columns = {"sample": (Column("sample", True), [samples.title(row) for row in rows.tolist()])}

    def score(value: float) -> str:
        return f"{value:.3f}" if math.isfinite(value) else UNKNOWN

    def add(name: str, values: np.ndarray | None, shown: Callable[[Any], str], numbers: bool = False) -> None:
        if values is not None:
            columns[name] = (Column(name, numbers), [shown(value) for value in values[rows].tolist()])

    add("given", samples.given, label)
    add("suggested", samples.suggested, label)
    if samples.candidates is not None:
        sets = [", ".join(map(label, samples.candidates[row])) for row in rows]
        columns["candidates"] = (Column("candidates"), sets)
    add("true", samples.true, label)
    add("quality", samples.quality, score, numbers=True)
    add("weight", samples.weight, score, numbers=True)
    add("family", samples.family, lambda value: family_name(value, count) if value >= 0 else UNKNOWN)
    sorted_by = list(columns).index("quality") if "quality" in columns else -1
    cells = zip(*(values for _, values in columns.values()), strict=True)
    return Table("Labels that look wrong", [column for column, _ in columns.values()], list(cells), sorted_by)
