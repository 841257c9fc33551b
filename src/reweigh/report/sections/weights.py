"""Section: how the weights of the samples are spread."""

from collections.abc import Sequence

import numpy as np

from reweigh.names import plural
from reweigh.report.content import Panel, Plot, Section
from reweigh.report.figures import plot_weights
from reweigh.runs.account import Account
from reweigh.runs.words import percent

LEAD = (
    "Mean weight of each training sample during training. A sample with a weight near zero was almost ignored. If the "
    "true labels are known, two peaks far apart mean that wrong labels were recognized."
)


def weights(accounts: Sequence[Account]) -> Section:
    """Histograms of the weights."""
    known = [account.samples.weight for account in accounts if account.samples is not None]
    top = max((float(np.nanmax(weight)) for weight in known if weight is not None), default=1.0)
    return Section("Which samples were trusted", LEAD, [panel(account, top) for account in accounts])


def panel(account: Account, top: float) -> Panel:
    """One run.

    Args:
        top: Largest weight of all runs.
    """
    samples = account.samples
    if samples is None or samples.weight is None:
        return Panel([f"The run has no weights: {account.method} does not use any, or the run has not finished."])
    known = np.isfinite(samples.weight)
    found = samples.weight[known]
    label = "label" if samples.labeled.all() else "pseudo-label"
    if samples.mistaken is None:
        words = f"The mean weight is {found.mean():.2f}; {spread(found)}."
    else:
        right, wrong = samples.weight[known & ~samples.mistaken], samples.weight[known & samples.mistaken]
        if not len(right) or not len(wrong):
            return Panel(["Only right or only wrong labels were ever weighted, so there is nothing to compare."])
        words = (
            f"The mean weight of {plural(len(wrong), f'wrong {label}')} is {wrong.mean():.2f}, and that of "
            f"{plural(len(right), f'right {label}')} is {right.mean():.2f}. A wrong one has a lower weight than a "
            f"right one in {percent(lower_share(wrong, right))} of all pairs (50\N{NO-BREAK SPACE}% is chance)."
        )
    figure = plot_weights(samples.weight, samples.mistaken, top)
    alternative = f"Histogram of {plural(len(found), 'weight')} between 0 and {found.max():.2f}. {words}"
    return Panel([words], [Plot(figure, "Weights of the training samples", alternative)])


def spread(found: np.ndarray) -> str:
    """The range of the middle 80 percent."""
    low, high = np.quantile(found, [0.1, 0.9])
    return f"80\N{NO-BREAK SPACE}% are between {low:.2f} and {high:.2f}"


def lower_share(wrong: np.ndarray, right: np.ndarray) -> float:
    """The share of pairs in which the wrong one has the lower weight (the area under the ROC curve)."""
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(np.repeat([0, 1], [len(wrong), len(right)]), np.concatenate([wrong, right])))
