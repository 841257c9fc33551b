"""Section: density of the losses, class by class."""

from collections.abc import Sequence

import numpy as np

from reweigh.names import plural
from reweigh.report.content import Panel, Plot, Section
from reweigh.report.figures import plot_losses
from reweigh.report.figures.weighting import loss_limit
from reweigh.runs.account import Account
from reweigh.runs.words import family_name

MOST = 12  # classes in one figure
LEAD = (
    "Distribution of the losses at the end of training, by given label. A second peak at high losses is a group of "
    "samples whose labels the model does not believe, perhaps because they are wrong. Heights are square roots, "
    "so that small groups are visible."
)


def losses(accounts: Sequence[Account]) -> Section:
    """Loss density by class."""
    end = loss_limit(np.concatenate([account.losses for account in accounts]))
    return Section("Losses of each class", LEAD, [panel(account, end) for account in accounts], folded=True)


def panel(account: Account, end: float) -> Panel:
    """One run.

    Args:
        end: End of the loss axis, the same for all runs.
    """
    samples, classes = account.samples, account.classes
    if samples is None or samples.loss is None:
        return Panel(["The run does not store the losses of its samples."])
    known = np.isfinite(samples.loss)
    means = {
        label: (float(np.median(own)), float(own.mean()))
        for label in range(len(classes.names))
        if len(own := samples.loss[known & (samples.given == label)])
    }
    if not means:
        return Panel(["None of the training losses is a finite number."])
    hardest = sorted(means, key=lambda label: -means[label][1])
    shown = sorted(hardest[:MOST])
    top = hardest[0]
    words = [f"The hardest class is “{classes.names[top]}” with a mean loss of {means[top][1]:.2f}, "
             f"the easiest “{classes.names[hardest[-1]]}” with {means[hardest[-1]][1]:.2f}."]  # fmt: skip
    if len(shown) < len(means):
        words.append(
            f"The figure shows the {MOST} of {plural(len(means), 'class', 'classes')} with the highest mean loss."
        )
    row = np.full(len(classes.names) + 1, -1)
    row[shown] = np.arange(len(shown))
    rows = row[np.where((samples.given >= 0) & (samples.given < len(classes.names)), samples.given, -1)]
    names = [classes.names[label] for label in shown]
    figure = plot_losses(samples.loss, rows, names, samples.wrong, end)
    alternative = "Density of the loss by given label; median and mean: " + "; ".join(
        f"{classes.names[label]} {means[label][0]:.2f} and {means[label][1]:.2f}" for label in shown
    )
    return Panel(words, [Plot(figure, "Loss density by given label", alternative + "."), *by_family(account, end)])


def by_family(account: Account, end: float) -> list[Plot]:
    """The same by the family of the given label, which is all that the weighting function knows of a class."""
    samples, of_class = account.samples, account.classes.families
    if samples is None or samples.loss is None or len(set(of_class)) < 2:
        return []
    count = max(of_class) + 1
    known = (samples.given >= 0) & (samples.given < len(of_class)) & np.isfinite(samples.loss)
    family = np.where(known, np.array(of_class)[np.where(known, samples.given, 0)], -1)
    names = [family_name(each, count) for each in range(count)]
    figure = plot_losses(samples.loss, family, names, samples.wrong, end, what="family of the given label")
    said = "; ".join(f"{names[each]} {np.median(samples.loss[family == each]):.2f}" for each in sorted(set(of_class)))
    return [Plot(figure, "Loss density by family of classes", f"Density of the loss by family; median: {said}.")]
