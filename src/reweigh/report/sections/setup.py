"""Sections about how a run came about: how columns were read, its time, and its recipe."""

import math
import platform
import shlex
from collections.abc import Sequence
from statistics import mean

import torch

from reweigh.data.tables.decide import ReadAs
from reweigh.errors import DataError
from reweigh.files import read_text
from reweigh.fit.inputs import InputForm
from reweigh.report.content import Column, Panel, Section, Table
from reweigh.runs.read import Account
from reweigh.runs.words import UNKNOWN, duration
from reweigh.training import Run

MAX_COLUMNS = 200  # columns
PLAIN = "erm"
COLUMNS_LEAD = (
    "The kind of a column is decided from all of its cells; cells that do not fit count as gaps. To choose it, "
    "set data.columns.NAME=KIND."
)


def columns(accounts: Sequence[Account]) -> Section | None:
    """How each run read its table; None if none was trained on one."""
    panels = [
        columns_panel(found) if (found := readings_of(account)) else Panel(["Not a table."]) for account in accounts
    ]
    return (
        Section("Columns", COLUMNS_LEAD, panels, wide=True, folded=True)
        if any(panel.table for panel in panels)
        else None
    )


def readings_of(account: Account) -> Sequence[ReadAs]:
    """How the columns were read, as the run stores it; empty if it was not trained on a table, or has not ended."""
    file = Run(account.path).inputs
    try:
        encoding = InputForm.from_json(read_text(file), str(file)).encoding if file.is_file() else None
    except DataError:
        return ()
    return () if encoding is None else encoding.readings


def columns_panel(readings: Sequence[ReadAs]) -> Panel:
    """One run; of very many columns those that are odd, or have gaps, come first."""
    shown = (
        sorted(readings, key=lambda read: not (read.notes or read.gaps))[:MAX_COLUMNS]
        if len(readings) > MAX_COLUMNS
        else readings
    )
    cells = [
        (
            read.name,
            "left out" if read.kind == "drop" else read.kind,
            " | ".join(read.examples),
            str(read.gaps),
            read.notes,
        )
        for read in shown
    ]
    heads = [Column("column"), Column("read as"), Column("examples"), Column("gaps", True), Column("odd")]
    words = [f"{len(readings) - len(shown):,} more columns are in inputs.json."] if len(shown) < len(readings) else []
    return Panel(words, table=Table("How the columns were read", heads, cells))


def setup(accounts: Sequence[Account]) -> Section:
    """Time of each run, its ratio to plain training, its recipe."""
    plain = [per_epoch(account) for account in accounts if account.method == PLAIN and account.history]
    columns = [Column("run"), Column("method")]
    columns += [Column(name, numbers=True) for name in ("epochs", "total", "per epoch")]
    rows = [
        [
            account.name,
            account.method,
            str(len(account.history)),
            duration(account.seconds) if account.history else UNKNOWN,
            duration(per_epoch(account)) if account.history else UNKNOWN,
            *([f"{per_epoch(account) / mean(plain):.2f} times" if account.history else UNKNOWN] if plain else []),
        ]
        for account in accounts
    ]
    lead = (
        "Time of training and testing, and the recipe: everything that determines a run, with every default written "
        f"out. This page was made with Python {platform.python_version()} and torch {torch.__version__}."
    )
    if plain:
        columns.append(Column("relative to plain training", numbers=True))
    panels = [Panel(commands=[("To train again", again(account))], code=account.recipe_text) for account in accounts]
    return Section("Time, recipe and environment", lead, panels, Table("Time of each run", columns, rows), folded=True)


def per_epoch(account: Account) -> float:
    """Mean seconds per epoch."""
    return account.seconds / len(account.history) if account.history else math.nan


def again(account: Account) -> str:
    """The command that repeats a run in another folder."""
    return shlex.join(["reweigh", "train", str(account.path), "--out", f"{account.path}-again"])
