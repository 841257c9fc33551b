"""Section: which classes are confused, in the test and in the training labels."""

from collections.abc import Sequence

import numpy as np

from reweigh.names import plural
from reweigh.report.content import Panel, Plot, Section
from reweigh.report.figures import plot_matrix
from reweigh.report.figures.matrix import counts, known
from reweigh.runs.account import Account
from reweigh.runs.words import percent

NAMED = 3  # confusions described in words
MOST = 200  # classes of a matrix that is drawn
LEAD = (
    "The first matrix shows the test set: which class the model predicts for samples of each label. The second shows "
    "the training labels: which label training suggests for samples of each given label; a dark cell off the diagonal "
    "points to a systematic labeling mistake. Darker cells hold a larger share of their row."
)


def confusion(accounts: Sequence[Account]) -> Section:
    """Confusion matrix of the test, and given against suggested labels."""
    return Section("Which classes are confused", LEAD, [panel(account) for account in accounts])


def panel(account: Account) -> Panel:
    """One run."""
    names, words, plots = account.classes.names, [], []
    if account.tested is None:
        words.append("The run stores no predictions for single test samples.")
    else:
        pairs = known(account.tested.label, account.tested.predicted, len(names))
        found, n = most_confused(*pairs, names, "is {} predicted as"), len(pairs[0])
        right = percent(int((pairs[0] == pairs[1]).sum()) / max(n, 1))
        words.append(f"In the test set: {found or 'no class is confused with another'}.")
        alternative = (
            f"Confusion matrix of {plural(n, 'test sample')}: {right} on the diagonal. "
            f"{found or 'Nothing off the diagonal'}."
        )
        if len(names) <= MOST:
            figure = plot_matrix(counts(*pairs, len(names)), names)
            plots.append(Plot(figure, "Test: label and predicted class", alternative))
    samples = account.samples
    if samples is None or samples.suggested is None:
        words.append("The run does not suggest labels.")
    else:
        pairs = known(samples.given, samples.suggested, len(names))
        found, n = most_confused(*pairs, names, "is {} suggested to be"), len(pairs[0])
        changed = int((pairs[0] != pairs[1]).sum())
        words.append(f"In the training labels: {found or 'no other label is suggested'}.")
        alternative = (
            f"Given against suggested labels of {plural(n, 'training sample')}: another label is "
            f"suggested for {changed:,} ({percent(changed / max(n, 1))}). {found or 'Nothing off the diagonal'}."
        )
        if len(names) <= MOST:
            figure = plot_matrix(counts(*pairs, len(names)), names, "given label", "suggested label")
            plots.append(Plot(figure, "Training: given label and suggested label", alternative))
    if len(names) > MOST:
        words.append(f"A matrix of {len(names):,} classes would be too large to read.")
    return Panel(words, plots)


def most_confused(rows: np.ndarray, columns: np.ndarray, names: Sequence[str], verb: str) -> str:
    """The most frequent pairs of two classes, in words; with many classes, all pairs would not fit in memory.

    Args:
        verb: What happens, with ``{}`` where the frequency belongs.
    """
    sizes = np.bincount(rows, minlength=len(names))
    differ = rows != columns
    cells, times = np.unique(rows[differ] * len(names) + columns[differ], return_counts=True)
    first = np.argsort(-times, kind="stable")[:NAMED]
    found = [(*divmod(int(cell), len(names)), number) for cell, number in zip(cells[first], times[first], strict=True)]
    return ", ".join(
        f"“{names[row]}” {verb.format(frequency(number / sizes[row]))} “{names[column]}” ({number:,} of {sizes[row]:,})"
        for row, column, number in found
    )


def frequency(share: float) -> str:
    """How often something happens, in a word."""
    return "mostly" if share > 0.5 else "often" if share >= 0.25 else "sometimes" if share >= 0.05 else "rarely"
