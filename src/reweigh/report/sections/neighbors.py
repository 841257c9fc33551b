"""Section: samples that are nearly the same, those with different labels first, and samples that belong to no class."""

from collections.abc import Sequence

import numpy as np

from reweigh.names import plural
from reweigh.report.content import Column, Panel, Section, Table
from reweigh.report.sections.suspects import title
from reweigh.runs.account import Account
from reweigh.runs.tables import Samples

ROWS = 200
LEAD = (
    "Found by comparing each sample with its nearest neighbors, regardless of labels. Of near-duplicates with "
    "different labels, at least one is wrong. Near-duplicates with the same label count twice, and if one of them is "
    "in the test set, the test is too easy."
)


def neighbors(accounts: Sequence[Account]) -> Section | None:
    """Near-duplicates and outliers; None if no run looked for them."""
    if all(account.samples is None or account.samples.near_duplicate_of is None for account in accounts):
        return None
    return Section("Near-duplicates and outliers", LEAD, [panel(account) for account in accounts])


def panel(account: Account) -> Panel:
    """One run."""
    samples = account.samples
    if samples is None or samples.near_duplicate_of is None or samples.outlier is None:
        return Panel(["This run did not look for near-duplicates and outliers."])
    pairs = pairs_of(samples)
    differ = sum(samples.given[a] != samples.given[b] for a, b in pairs)
    alone = np.flatnonzero(samples.outlier)
    words = [
        f"{plural(len(pairs), 'pair')} of near-duplicates, {differ:,} of them with different labels; "
        f"{plural(len(alone), 'sample')} far from all others (outliers)."
    ]
    label = account.classes.name

    def cells(what: str, index: int) -> list[str]:
        return [what, title(samples, None, index), label(int(samples.given[index]))]

    pairs = sorted(pairs, key=lambda pair: samples.given[pair[0]] == samples.given[pair[1]])
    rows = [
        [
            *cells("other label" if samples.given[a] != samples.given[b] else "near-duplicate", a),
            title(samples, None, b),
            label(int(samples.given[b])),
        ]
        for a, b in pairs
    ]
    rows += [[*cells("outlier", index), "", ""] for index in alone.tolist()]
    if not rows:
        return Panel(words)
    if len(rows) > ROWS:
        words.append(f"The table shows the first {ROWS}; all are in samples.csv (near_duplicate_of, is_outlier).")
    columns = [Column(name) for name in ("what", "sample", "given label", "nearly the same as", "its given label")]
    return Panel(words, table=Table("Near-duplicates and outliers", columns, rows[:ROWS], folded=len(rows) > 10))


def pairs_of(samples: Samples) -> list[tuple[int, int]]:
    """Indices of near-duplicates, each pair once, the smaller index first."""
    assert samples.near_duplicate_of is not None
    known = samples.row.astype(str).tolist() if samples.name is None else list(samples.name)
    index = {name: place for place, name in enumerate(known)}
    found = {
        (min(place, index[other]), max(place, index[other]))
        for place, other in enumerate(samples.near_duplicate_of.tolist())
        if other in index
    }
    return sorted(found)
