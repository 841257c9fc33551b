"""Section: which classes are confused, in the test and in the training labels."""

from collections.abc import Sequence

import numpy as np

from reweigh.names import plural
from reweigh.report.account import Account
from reweigh.report.content import Panel, Plot, Section
from reweigh.report.figures import plot_matrix
from reweigh.report.figures.matrix import counts
from reweigh.report.words import percent

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
        matrix = counts(account.tested.label, account.tested.predicted, len(names))
        found = most_confused(matrix, names, "is {} predicted as")
        right = percent(np.trace(matrix) / max(matrix.sum(), 1))
        words.append(f"In the test set: {found or 'no class is confused with another'}.")
        figure = plot_matrix(matrix, names)
        alternative = (
            f"Confusion matrix of {plural(int(matrix.sum()), 'test sample')}: {right} on the diagonal. "
            f"{found or 'Nothing off the diagonal'}."
        )
        plots.append(Plot(figure, "Test: label and predicted class", alternative))
    samples = account.samples
    if samples is None or samples.suggested is None:
        words.append("The run does not suggest labels.")
    else:
        matrix = counts(samples.given, samples.suggested, len(names))
        found = most_confused(matrix, names, "is {} suggested to be")
        changed = int(matrix.sum() - np.trace(matrix))
        share = percent(changed / max(matrix.sum(), 1))
        words.append(f"In the training labels: {found or 'no other label is suggested'}.")
        figure = plot_matrix(matrix, names, "given label", "suggested label")
        alternative = (
            f"Given against suggested labels of {plural(int(matrix.sum()), 'training sample')}: another label is "
            f"suggested for {changed:,} ({share}). {found or 'Nothing off the diagonal'}."
        )
        plots.append(Plot(figure, "Training: given label and suggested label", alternative))
    if len(names) > MOST:
        return Panel([*words, f"A matrix of {len(names):,} classes would be too large to read."])
    return Panel(words, plots)


def most_confused(matrix: np.ndarray, names: Sequence[str], verb: str) -> str:
    """The largest cells off the diagonal, in words.

    Args:
        verb: What happens, with ``{}`` where the frequency belongs.
    """
    others = matrix.copy()
    np.fill_diagonal(others, 0)
    order = np.argsort(-others, axis=None, kind="stable")[:NAMED]
    pairs = [divmod(int(cell), len(names)) for cell in order if others.flat[cell] > 0]
    return ", ".join(
        f"“{names[row]}” {verb.format(frequency(others[row, column] / matrix[row].sum()))} “{names[column]}” "
        f"({others[row, column]:,} of {matrix[row].sum():,})"
        for row, column in pairs
    )


def frequency(share: float) -> str:
    """How often something happens, in a word."""
    return "mostly" if share > 0.5 else "often" if share >= 0.25 else "sometimes" if share >= 0.05 else "rarely"
