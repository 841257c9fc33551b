"""Section: what is taken for what, in the test and in the training labels."""

from collections.abc import Sequence

import numpy as np

from reweigh.report.account import Account
from reweigh.report.content import Panel, Plot, Section
from reweigh.report.figures import plot_matrix
from reweigh.report.figures.matrix import counts
from reweigh.report.words import percent, several

NAMED = 3  # confusions told in words
MOST = 200  # classes of a matrix that is drawn
LEAD = (
    "The first matrix is the test: which class the model predicts for samples of each true class. The second is the "
    "training labels: which label training suggests for samples of each given label; a strong cell beside the diagonal "
    "is a systematic mistake of whoever gave the labels. Stronger cells hold a larger share of their row."
)


def confusion(accounts: Sequence[Account]) -> Section:
    """Confusion matrix of the test, and given against suggested labels."""
    return Section("What is taken for what", LEAD, [panel(account) for account in accounts])


def panel(account: Account) -> Panel:
    """Of one run."""
    names, words, plots = account.classes.names, [], []
    if account.tested is None:
        words.append("The run stores no predictions for single test samples.")
    else:
        matrix = counts(account.tested.label, account.tested.predicted, len(names))
        told = most_confused(matrix, names, "is taken for")
        right = percent(np.trace(matrix) / max(matrix.sum(), 1))
        words.append(f"In the test: {told or 'no class is taken for another'}.")
        figure = plot_matrix(matrix, names)
        alternative = (
            f"Confusion matrix of {several(int(matrix.sum()), 'test sample')}: {right} on the diagonal. "
            f"{told or 'Nothing beside the diagonal'}."
        )
        plots.append(Plot(figure, "Test: true class and predicted class", alternative))
    samples = account.samples
    if samples is None or samples.suggested is None:
        words.append("The run suggests no labels.")
    else:
        matrix = counts(samples.given, samples.suggested, len(names))
        told = most_confused(matrix, names, "should often be")
        changed = int(matrix.sum() - np.trace(matrix))
        share = percent(changed / max(matrix.sum(), 1))
        words.append(f"In the training labels: {told or 'no other label is suggested'}.")
        figure = plot_matrix(matrix, names, "given label", "suggested label")
        alternative = (
            f"Given against suggested labels of {several(int(matrix.sum()), 'training sample')}: another label is "
            f"suggested for {changed:,} ({share}). {told or 'Nothing beside the diagonal'}."
        )
        plots.append(Plot(figure, "Training: given label and suggested label", alternative))
    if len(names) > MOST:
        return Panel([*words, f"A matrix of {len(names):,} classes would be too large to read."])
    return Panel(words, plots)


def most_confused(matrix: np.ndarray, names: Sequence[str], verb: str) -> str:
    """The largest cells beside the diagonal, in words."""
    beside = matrix.copy()
    np.fill_diagonal(beside, 0)
    order = np.argsort(-beside, axis=None, kind="stable")[:NAMED]
    pairs = [divmod(int(place), len(names)) for place in order if beside.flat[place] > 0]
    return ", ".join(
        f"“{names[row]}” {verb} “{names[column]}” ({beside[row, column]:,} of {matrix[row].sum():,})"
        for row, column in pairs
    )
