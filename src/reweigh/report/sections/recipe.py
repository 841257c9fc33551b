"""Section: the recipe that reproduces each run."""

import shlex
from collections.abc import Sequence

from reweigh.report.account import Account
from reweigh.report.content import Panel, Section

LEAD = "Everything that determines a run, with every default written out. The same recipe reproduces the run."


def recipe(accounts: Sequence[Account]) -> Section:
    """The recipes."""
    return Section(
        "The recipe",
        LEAD,
        [Panel(commands=[("To train again", again(account))], code=account.recipe_text) for account in accounts],
    )


def again(account: Account) -> str:
    """The command that repeats a run in another folder."""
    return shlex.join(["reweigh", "train", str(account.path), "--out", f"{account.path}-again"])
