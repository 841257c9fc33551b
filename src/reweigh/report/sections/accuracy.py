"""Sections about the model: accuracy of each class, which classes are confused, and what abstaining is worth."""

from collections.abc import Sequence

import numpy as np
import torch

from reweigh.issues.count import HABIT
from reweigh.issues.true_labels import accuracy_limits
from reweigh.names import listed, plural
from reweigh.report.content import Panel, Plot, each_run
from reweigh.report.figures import plot_accuracy_by_size, plot_class_accuracy, plot_matrix, plot_risk_coverage
from reweigh.report.figures.classes import counts, known
from reweigh.runs.audit import audited
from reweigh.runs.headline import held_out
from reweigh.runs.read import Account
from reweigh.runs.weak_groups import weak_group
from reweigh.runs.words import percent
from reweigh.selective import LEVELS, area, error_at, risk_coverage
from reweigh.training import Run

MAX_BARS = 30  # classes that get a bar each
NUM_PAIRS_IN_WORDS = 3  # confusions described in words
MAX_MATRIX_CLASSES = 200  # classes of a matrix that is drawn
CLASSES_LEAD = (
    "Accuracy of the model on the test samples of each class, next to the number of training samples with that label. "
    "Rare classes are usually the weak ones."
)


def classes_panel(account: Account) -> Panel:
    """One run."""
    names, sizes = account.classes.names, np.array(account.classes.sizes)
    if account.tested is None:
        return Panel(["The run stores no predictions for single test samples."])
    accuracy = class_accuracy(account.tested.label, account.tested.predicted, len(names))
    known = np.flatnonzero(np.isfinite(accuracy))
    if not len(known):
        return Panel(["None of the classes occurs in the test set."])
    sizes = sizes if len(sizes) == len(names) else np.zeros(len(names), int)
    order = known[np.argsort(accuracy[known], kind="stable")]
    worst, best = int(order[0]), int(order[-1])
    rates = accuracy.tolist()
    words = (
        f"The weakest class is “{names[worst]}” with {percent(rates[worst])} ({sizes[worst]:,} training samples), "
        f"the strongest “{names[best]}” with {percent(rates[best])} ({sizes[best]:,})."
    )
    if held_out(account):
        words += " These are held-out labels as they were given." + on_true_labels(account, worst, rates[worst])
    weak = weak_group(account)
    each = [f"{names[label]} {percent(rates[label])} of {sizes[label]:,}" for label in order.tolist()]
    alternative = f"Test accuracy and training samples by class, the weakest first: {listed(each, MAX_BARS)}."
    if len(names) <= MAX_BARS:
        figure = plot_class_accuracy(accuracy, sizes, names)
    else:
        figure = plot_accuracy_by_size(accuracy[known], sizes[known])
    return Panel([words, *filter(None, [weak])], [Plot(figure, "Test accuracy and size of each class", alternative)])


classes = each_run("Accuracy of each class", CLASSES_LEAD, classes_panel)


def on_true_labels(account: Account, label: int, agreement: float) -> str:
    """What the accuracy on a class would be on true labels, by an audit or as estimated; empty if nothing is known.

    Args:
        agreement: Share of the held-out labels of the class that the model predicts.
    """
    name, finding, audit = account.classes.names[label], account.classes.finding, audited(account.path)
    if audit is not None and name in audit.classes:
        wrong = audit.classes[name]
        low, high = accuracy_limits(agreement, wrong.high, 1.0)
        right = f"the model is right for {percent(low)} to {percent(high)}"
        return f" By the audit, {wrong} of those of “{name}” are wrong, so that on true labels {right}."
    if finding is None or len(finding.share) != len(account.classes.names):
        return ""
    low, high = accuracy_limits(agreement, finding.high[label], HABIT)
    about = ""
    if any(finding.low):
        about = f"about {percent(min(max(agreement / max(1 - finding.share[label], 1e-9), low), high))}, "
    return (
        f" Of those of “{name}”, {percent(finding.low[label])} to {percent(finding.high[label])} are wrong, so that on "
        f"true labels the model is right for {about}{percent(low)} to {percent(high)}."
    )


def class_accuracy(labels: np.ndarray, predicted: np.ndarray, num_classes: int) -> np.ndarray:
    """The accuracy within each class, shape (num_classes,); NaN for a class without samples."""
    inside = (labels >= 0) & (labels < num_classes)
    total = np.bincount(labels[inside], minlength=num_classes)
    right = np.bincount(labels[inside & (labels == predicted)], minlength=num_classes)
    return np.where(total > 0, right / np.maximum(total, 1), np.nan)


CONFUSION_LEAD = (
    "The first matrix shows the test set: which class the model predicts for samples of each label. The second shows "
    "the training labels: which label training suggests for samples of each given label; a dark cell off the diagonal "
    "points to a systematic labeling mistake. Darker cells hold a larger share of their row."
)


def confusion_panel(account: Account) -> Panel:
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
        if len(names) <= MAX_MATRIX_CLASSES:
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
        if len(names) <= MAX_MATRIX_CLASSES:
            figure = plot_matrix(counts(*pairs, len(names)), names, "given label", "suggested label")
            plots.append(Plot(figure, "Training: given label and suggested label", alternative))
    if len(names) > MAX_MATRIX_CLASSES:
        words.append(f"A matrix of {len(names):,} classes would be too large to read.")
    return Panel(words, plots)


confusion = each_run("Which classes are confused", CONFUSION_LEAD, confusion_panel)


def most_confused(rows: np.ndarray, columns: np.ndarray, names: Sequence[str], verb: str) -> str:
    """The most frequent pairs of two classes, in words; with many classes, all pairs would not fit in memory."""
    sizes = np.bincount(rows, minlength=len(names))
    differ = rows != columns
    cells, times = np.unique(rows[differ] * len(names) + columns[differ], return_counts=True)
    first = np.argsort(-times, kind="stable")[:NUM_PAIRS_IN_WORDS]
    found = [(*divmod(int(cell), len(names)), number) for cell, number in zip(cells[first], times[first], strict=True)]
    return ", ".join(
        f"“{names[row]}” {verb.format(frequency(number / sizes[row]))} “{names[column]}” ({number:,} of {sizes[row]:,})"
        for row, column, number in found
    )


def frequency(share: float) -> str:
    """How often something happens, in a word."""
    return "mostly" if share > 0.5 else "often" if share >= 0.25 else "sometimes" if share >= 0.05 else "rarely"


ABSTAINING_LEAD = (
    "Test samples are ranked by the confidence of the model. The curve shows the error rate among the most confident "
    "ones. The lower it is on the left, the better the model knows what it does not know, and the more it helps to "
    "leave doubtful samples to a person."
)


def abstaining_panel(account: Account) -> Panel:
    """One run."""
    tested = account.tested
    if tested is None or tested.score is None or not np.isfinite(tested.score).all():
        return Panel(["The run stores no confidence of the model for single test samples."])
    curve = risk_coverage(torch.from_numpy(tested.score), torch.from_numpy(tested.label != tested.predicted))
    errors = {level: error_at(curve, level / 100) for level in LEVELS}
    words = [
        f"{percent(errors[100])} of {plural(len(curve), 'prediction')} are wrong; of the most confident "
        f"90%, {percent(errors[90])} are, and of the most confident 70%, "
        f"{percent(errors[70])}. The mean over all coverages, the area under the curve, is {percent(area(curve))}."
    ]
    listed = ", ".join(f"{percent(error)} at {level}%" for level, error in errors.items())
    alternative = f"Share of wrong predictions by coverage: {listed}; area under the curve {percent(area(curve))}."
    plot = Plot(
        plot_risk_coverage(curve.numpy()), "Error rate of the predictions that are kept, by coverage", alternative
    )
    commands = []
    if Run(account.path).abstain.is_file():
        commands.append(
            (
                "Predict, and abstain where the model is not confident",
                f"reweigh predict {account.path} DATA --coverage 0.9",
            )
        )
    return Panel(words, [plot], commands=commands)


abstaining = each_run("If the model may abstain", ABSTAINING_LEAD, abstaining_panel, folded=True)
