"""Section: how many labels are wrong in each class, as estimated."""

from collections.abc import Sequence

import numpy as np

from reweigh.report.content import Column, Panel, Section, Table
from reweigh.runs.account import Account
from reweigh.runs.words import UNKNOWN, percent

LEAD = (
    "How many labels of each class are wrong, as estimated from predictions for samples whose label the model had not "
    "learned. The limits are the lowest and the highest of several estimates. A weak model takes some of its errors "
    "for wrong labels, so treat the numbers of small or hard classes with care."
)


def wrong_labels(accounts: Sequence[Account]) -> Section | None:
    """Shares of wrong labels by class; None if no run estimated them."""
    if all(account.classes.finding is None for account in accounts):
        return None
    return Section("Wrong labels by class", LEAD, [panel(account) for account in accounts])


def panel(account: Account) -> Panel:
    """One run."""
    classes, samples, finding = account.classes, account.samples, account.classes.finding
    if finding is None:
        return Panel(["The method does not estimate how many labels are wrong."])
    flagged = None
    if samples is not None and samples.issue is not None:
        flagged = np.bincount(samples.given[samples.issue], minlength=len(classes.names))
    columns = [Column("class"), *(Column(name, True) for name in ("samples", "look wrong", "estimate", "from", "to"))]
    order = sorted(range(len(classes.names)), key=lambda label: -finding.share[label])
    rows = [
        [
            classes.name(label),
            f"{classes.sizes[label]:,}",
            UNKNOWN if flagged is None else f"{flagged[label]:,}",
            *(percent(shares[label]) for shares in (finding.share, finding.low, finding.high)),
        ]
        for label in order
    ]
    return Panel([], table=Table("Wrong labels by class", columns, rows, sorted_by=-1))
