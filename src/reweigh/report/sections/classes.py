"""Section: accuracy of each class, with its size."""

from collections.abc import Sequence

import numpy as np

from reweigh.names import listed
from reweigh.report.content import Panel, Plot, Section
from reweigh.report.figures import plot_accuracy_by_size, plot_class_accuracy
from reweigh.runs.account import Account
from reweigh.runs.words import percent

MOST = 30  # classes that get a bar each
LEAD = (
    "Accuracy of the model on the test samples of each class, next to the number of training samples with that label. "
    "Rare classes are usually the weak ones."
)


def classes(accounts: Sequence[Account]) -> Section:
    """Accuracy and size of each class."""
    return Section("Accuracy of each class", LEAD, [panel(account) for account in accounts])


def panel(account: Account) -> Panel:
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
    each = [f"{names[label]} {percent(rates[label])} of {sizes[label]:,}" for label in order.tolist()]
    alternative = f"Test accuracy and training samples by class, the weakest first: {listed(each, MOST)}."
    if len(names) <= MOST:
        figure = plot_class_accuracy(accuracy, sizes, names)
    else:
        figure = plot_accuracy_by_size(accuracy[known], sizes[known])
    return Panel([words], [Plot(figure, "Test accuracy and size of each class", alternative)])


def class_accuracy(labels: np.ndarray, predicted: np.ndarray, num_classes: int) -> np.ndarray:
    """The accuracy within each class, shape (num_classes,); NaN for a class without samples."""
    inside = (labels >= 0) & (labels < num_classes)
    total = np.bincount(labels[inside], minlength=num_classes)
    right = np.bincount(labels[inside & (labels == predicted)], minlength=num_classes)
    return np.where(total > 0, right / np.maximum(total, 1), np.nan)
