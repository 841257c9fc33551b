"""Section: gradients of both levels on fixed samples, and the rate that the paper proves. Paper: Theorems 1 and 2."""

import math
from collections.abc import Sequence
from itertools import accumulate

from reweigh.report.content import Panel, Plot, Section
from reweigh.report.figures import plot_history
from reweigh.runs.account import Account
from reweigh.runs.words import number

LEAD = (
    "The squared norm of the gradient is measured at the start of each epoch, on samples that stay the same; the line "
    "shows the smallest value so far. The theorems say that in T steps it falls at least as fast as C / √T for some "
    "constant C. The dashed line is C / √T, starting at the first value. It is a bound for small learning rates, not a "
    "forecast."
)
LEVELS = {
    "train_squared_meta_gradient": "of the weighting function (Theorem 1)",
    "train_squared_gradient": "of the model (Theorem 2)",
}


def convergence(accounts: Sequence[Account]) -> Section | None:
    """Both theorems for each run that was asked to measure them; None if none was."""
    panels = [panel(account) for account in accounts]
    return Section("Convergence", LEAD, panels, folded=True) if any(each.plots for each in panels) else None


def panel(account: Account) -> Panel:
    """One run."""
    plots = []
    for key, level in LEVELS.items():
        known = [(int(line["epoch"]), line[key]) for line in account.history if math.isfinite(line.get(key, math.nan))]
        if known:
            epochs, values = zip(*known, strict=True)
            lowest = list(accumulate(values, min))
            rate = [lowest[0] / math.sqrt(epoch - epochs[0] + 1) for epoch in epochs]
            what = f"squared gradient {level}"
            figure = plot_history(epochs, {"smallest so far": lowest, "C / √T": rate}, what, log=True)
            alternative = (
                f"The smallest {what} so far: {number(lowest[0])} in epoch {epochs[0]}, {number(lowest[-1])} in epoch "
                f"{epochs[-1]}; C / √T is {number(rate[-1])} there."
            )
            plots.append(Plot(figure, f"Squared gradient {level}, the smallest so far", alternative))
    return Panel([] if plots else ["Not measured: method.convergence was 0."], plots)
