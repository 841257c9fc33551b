"""Section: the recipe, from which each run can be repeated."""

import shlex
from collections.abc import Sequence

from reweigh.report.account import Account
from reweigh.report.content import Panel, Section

LEAD = "Everything that determines a run, with every default spelled out. The same recipe gives the same run again."


def recipe(accounts: Sequence[Account]) -> Section:
    """The recipes."""
    return Section(
        "The recipe",
        LEAD,
        [Panel(commands=[("To train again", again(account))], code=account.recipe_text) for account in accounts],
    )


def again(account: Account) -> str:
    """The command that repeats a run beside it."""
    return shlex.join(["reweigh", "train", str(account.path), "--out", f"{account.path}-again"])
