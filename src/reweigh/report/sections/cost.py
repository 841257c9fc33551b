"""Section: what the training cost, beside plain training where a plain run is among those told of."""

import math
from collections.abc import Sequence
from statistics import mean

from reweigh.report.account import Account
from reweigh.report.content import Column, Section, Table
from reweigh.report.words import UNKNOWN, duration

PLAIN = "erm"


def cost(accounts: Sequence[Account]) -> Section:
    """Seconds of each run, and how many times those of plain training they are."""
    plain = [an_epoch(account) for account in accounts if account.method == PLAIN and account.history]
    columns = [Column("run"), Column("method")]
    columns += [Column(name, numbers=True) for name in ("epochs", "in all", "an epoch")]
    rows = [
        [
            account.name,
            account.method,
            str(len(account.history)),
            duration(account.seconds) if account.history else UNKNOWN,
            duration(an_epoch(account)) if account.history else UNKNOWN,
            *([f"{an_epoch(account) / mean(plain):.2f} times" if account.history else UNKNOWN] if plain else []),
        ]
        for account in accounts
    ]
    if plain:
        columns.append(Column("beside plain training", numbers=True))
        lead = f"Time of training and testing; an epoch of plain training ({PLAIN}) took {duration(mean(plain))}."
    else:
        lead = "Time of training and testing. Report a plain run too (method.name=erm) to see what reweighting adds."
    return Section("What it cost", lead, together=Table("Time of each run", columns, rows))


def an_epoch(account: Account) -> float:
    """Mean seconds of an epoch."""
    return account.seconds / len(account.history) if account.history else math.nan
