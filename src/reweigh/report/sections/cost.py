"""Section: training time, relative to plain training if one of the runs is plain."""

import math
from collections.abc import Sequence
from statistics import mean

from reweigh.report.account import Account
from reweigh.report.content import Column, Section, Table
from reweigh.report.words import UNKNOWN, duration

PLAIN = "erm"


def cost(accounts: Sequence[Account]) -> Section:
    """Time of each run, and its ratio to plain training."""
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
    if plain:
        columns.append(Column("relative to plain training", numbers=True))
        lead = f"Time of training and testing. One epoch of plain training ({PLAIN}) took {duration(mean(plain))}."
    else:
        lead = "Time of training and testing. Report a plain run too (method.name=erm) to see what reweighting costs."
    return Section("Training time", lead, together=Table("Time of each run", columns, rows))


def per_epoch(account: Account) -> float:
    """Mean seconds per epoch."""
    return account.seconds / len(account.history) if account.history else math.nan
