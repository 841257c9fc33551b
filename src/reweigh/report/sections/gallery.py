"""Section: the most suspicious samples, to be looked at."""

from collections.abc import Sequence

import numpy as np

from reweigh.errors import DataError
from reweigh.report.account import Account
from reweigh.report.content import Card, Panel, Section
from reweigh.report.inputs import Shown, show
from reweigh.report.suspects import suspects, title
from reweigh.report.words import sentence

MOST = 50  # samples of one run
ALTOGETHER = 200  # samples of all runs: the page stays small
LEAD = "The samples whose given label fits least, the worst first. Judge for yourself: which label is right?"


def gallery(accounts: Sequence[Account]) -> Section:
    """The fifty most suspicious samples."""
    most = min(MOST, ALTOGETHER // len(accounts))
    return Section("The most suspicious samples", LEAD, [panel(account, most) for account in accounts], wide=True)


def panel(account: Account, most: int) -> Panel:
    """Of one run.

    Args:
        most: samples shown.
    """
    samples = account.samples
    rows = np.empty(0, int) if samples is None else suspects(samples)[:most]
    if samples is None or not len(rows):
        judged = samples is not None and samples.issue is not None
        return Panel(["No label looks wrong." if judged else "The run ranks no samples."])
    words = []
    if samples.quality is None:
        words.append("The run stores no label quality; these are the samples of least weight.")
    shown, missing = [Shown()] * len(rows), account.no_data
    if account.dataset is not None:
        try:
            shown = show(account.dataset, account.recipe.source, rows)
        except (DataError, OSError) as error:
            missing = str(error)
    if missing:
        words.append(sentence(f"Without the samples themselves: {missing}"))
    return Panel(words, cards=[card(account, row, look) for row, look in zip(rows.tolist(), shown, strict=True)])


def card(account: Account, row: int, look: Shown) -> Card:
    """A sample with what training says of it."""
    samples, label = account.samples, account.classes.name
    assert samples is not None
    facts = [
        (name, f"{values[row]:.3f}")
        for name, values in (("quality", samples.quality), ("weight", samples.weight))
        if values is not None and np.isfinite(values[row])
    ]
    if samples.true is not None:
        facts.append(("true label", label(int(samples.true[row]))))
    suggested = "" if samples.suggested is None else label(int(samples.suggested[row]))
    return Card(
        title(account, row), label(int(samples.given[row])), suggested, look.image, look.values, look.more, facts
    )
