"""Section: what each run took, and the recipe that reproduces it."""

import math
import platform
import shlex
from collections.abc import Sequence
from statistics import mean

import torch

from reweigh.report.content import Column, Panel, Section, Table
from reweigh.runs.account import Account
from reweigh.runs.words import UNKNOWN, duration

PLAIN = "erm"


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
