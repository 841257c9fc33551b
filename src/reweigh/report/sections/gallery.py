"""Section: pictures or values of the most suspicious samples."""

from collections.abc import Sequence

import numpy as np

from reweigh.errors import DataError
from reweigh.report.account import Account
from reweigh.report.content import Card, Panel, Section
from reweigh.report.inputs import Looks, Shown, on_card
from reweigh.report.words import sentence

MOST = 50  # samples of one run
ALTOGETHER = 200  # samples of all runs: the page stays small
LEAD = "The samples whose given labels look most wrong, the worst first. Which label do you think is right?"


def gallery(accounts: Sequence[Account]) -> Section:
    """The most suspicious samples."""
    most = min(MOST, ALTOGETHER // len(accounts))
    return Section("The most suspicious samples", LEAD, [panel(account, most) for account in accounts], wide=True)


def panel(account: Account, most: int) -> Panel:
    """One run.

    Args:
        most: Number of samples shown.
    """
    samples = account.samples
    rows = np.empty(0, int) if samples is None else samples.suspects[:most]
    if samples is None or not len(rows):
        judged = samples is not None and samples.issue is not None
        return Panel(["No label looks wrong." if judged else "The run does not rank its samples."])
    words = []
    shown, missing = [Shown()] * len(rows), account.no_data
    if account.dataset is not None:
        try:
            looks = Looks.of_source(account.dataset, account.recipe.source)
            other = samples.given if samples.suggested is None else samples.suggested
            shown = [on_card(looks, index, int(samples.given[index]), int(other[index])) for index in rows.tolist()]
        except (DataError, OSError) as error:
            missing = str(error)
    if missing:
        words.append(sentence(f"The samples themselves cannot be shown: {missing}"))
    return Panel(words, cards=[card(account, index, each) for index, each in zip(rows.tolist(), shown, strict=True)])


def card(account: Account, index: int, shown: Shown) -> Card:
    """A sample with what training found out about it."""
    samples, label = account.samples, account.classes.name
    assert samples is not None
    facts = [
        (name, f"{values[index]:.3f}")
        for name, values in (("quality", samples.quality), ("weight", samples.weight))
        if values is not None and np.isfinite(values[index])
    ]
    if samples.true is not None:
        facts.append(("true label", label(int(samples.true[index]))))
    suggested = "" if samples.suggested is None else label(int(samples.suggested[index]))
    return Card(f"row {samples.title(index)}", label(int(samples.given[index])), suggested, facts, shown)
