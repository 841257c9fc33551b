"""Section: sets of candidate labels, and how often the right one was found in them."""

from collections.abc import Sequence

import numpy as np

from reweigh.names import plural
from reweigh.report.content import Column, Panel, Section, Table
from reweigh.runs.account import Account
from reweigh.runs.tables import Samples
from reweigh.runs.words import percent

LEAD = (
    "Each training sample came with several candidate labels, one of which is right. The candidate that the model "
    "predicted most during training counts as its label; the more candidates, the harder it is to find the right one."
)


def candidates(accounts: Sequence[Account]) -> Section | None:
    """Samples by the number of their candidates; None if no run has candidates."""
    if all(account.samples is None or account.samples.candidates is None for account in accounts):
        return None
    return Section("Candidate labels", LEAD, [panel(account) for account in accounts])


def panel(account: Account) -> Panel:
    """One run."""
    samples = account.samples
    if samples is None or samples.candidates is None:
        return Panel(["The samples of this run have one label each."])
    counts, classes = np.array([len(each) for each in samples.candidates]), len(account.classes.names)
    words = [f"{plural(len(samples), 'training sample')} with {counts.mean():.2f} candidates on average."]
    if empty := int((counts == classes).sum()):
        words.append(f"{plural(empty, 'sample')} can be of any class, so these sets carry no information.")
    if samples.true is not None:
        words.append(f"The likeliest candidate is the right one for {percent(found(samples))} of the samples.")
    if samples.issue is not None and (strange := int(samples.issue.sum())):
        words.append(f"For {plural(strange, 'sample')} the likeliest class is not a candidate; look at these first.")
    return Panel(words, table=table(samples, counts))


def table(samples: Samples, counts: np.ndarray) -> Table:
    """A row for each number of candidates."""
    columns = [Column("candidates", True), Column("samples", True)]
    if samples.true is not None:
        columns.append(Column("right one found", True))
    rows = []
    for count in np.unique(counts).tolist():
        chosen = counts == count
        row = [str(count), f"{int(chosen.sum()):,}"]
        rows.append(row if samples.true is None else [*row, percent(found(samples, chosen))])
    return Table("Samples by the number of their candidates", columns, rows)


def found(samples: Samples, chosen: np.ndarray | slice = slice(None)) -> float:
    """The share of samples whose likeliest candidate is the true label."""
    assert samples.true is not None
    return float((samples.given == samples.true)[chosen].mean())
