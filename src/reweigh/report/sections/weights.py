"""Section: how the weights of the samples are spread."""

from collections.abc import Sequence

import numpy as np

from reweigh.report.account import Account
from reweigh.report.content import Panel, Plot, Section
from reweigh.report.figures import plot_weights
from reweigh.report.words import percent, several

LEAD = (
    "The weight of each training sample, the mean along training. Training hardly listened to a sample of weight near "
    "zero. Where the true labels are known, two hills far apart mean that wrong labels were told from right ones."
)


def weights(accounts: Sequence[Account]) -> Section:
    """Histograms of the weights."""
    known = [account.samples.weight for account in accounts if account.samples is not None]
    top = max((float(np.nanmax(weight)) for weight in known if weight is not None), default=1.0)
    return Section("Which samples were trusted", LEAD, [panel(account, top) for account in accounts])


def panel(account: Account, top: float) -> Panel:
    """Of one run.

    Args:
        top: the largest weight of all runs.
    """
    samples = account.samples
    if samples is None or samples.weight is None:
        return Panel([f"The run stores no weights: {account.method} gives none, or the run has not come that far."])
    known = np.isfinite(samples.weight)
    found = samples.weight[known]
    label = "label" if samples.labeled.all() else "pseudo-label"
    if samples.mistaken is None:
        words = f"The mean weight is {found.mean():.2f}; {spread(found)}."
    else:
        right, wrong = samples.weight[known & ~samples.mistaken], samples.weight[known & samples.mistaken]
        if not len(right) or not len(wrong):
            return Panel(["Only right or only wrong labels were ever weighed; there is nothing to set side by side."])
        words = (
            f"{several(len(wrong), f'wrong {label}')} with a mean weight of {wrong.mean():.2f}, "
            f"{several(len(right), f'right {label}')} with {right.mean():.2f}. A wrong one has a lower weight than a "
            f"right one in {percent(lower_share(wrong, right))} of all pairs (50 % would be chance)."
        )
    figure = plot_weights(samples.weight, samples.mistaken, top)
    alternative = f"Histogram of {several(len(found), 'weight')} between 0 and {found.max():.2f}. {words}"
    return Panel([words], [Plot(figure, "Weights of the training samples", alternative)])


def spread(found: np.ndarray) -> str:
    """Where the middle eight tenths are."""
    low, high = np.quantile(found, [0.1, 0.9])
    return f"eight in ten are between {low:.2f} and {high:.2f}"


def lower_share(wrong: np.ndarray, right: np.ndarray) -> float:
    """The share of pairs in which the wrong one has the lower weight; equal weights count half."""
    right = np.sort(right)
    above = len(right) - np.searchsorted(right, wrong, side="right")
    equal = len(right) - np.searchsorted(right, wrong, side="left") - above
    return float((above + 0.5 * equal).mean() / len(right))
