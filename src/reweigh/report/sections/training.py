"""Sections about training: metrics over the epochs, and the rate that the paper proves."""

import math
from collections.abc import Sequence
from itertools import accumulate

from reweigh.report.content import Panel, Plot, Section, each_run
from reweigh.report.figures import plot_history
from reweigh.runs.read import Account
from reweigh.runs.words import in_words, number, sentence

PSEUDO_WEIGHTS = {"right_weight": "right ones", "wrong_weight": "wrong ones"}
HISTORY_LEAD = (
    "Metrics after each epoch, which is one pass over the training data. If test accuracy rises and then falls while "
    "the training loss keeps falling, the model is memorizing wrong labels. Gradient norms near zero mean that the "
    "model and the weighting function have converged."
)


def history(accounts: Sequence[Account]) -> Section:
    """Curves of loss, accuracy, mean weight, and both gradient norms; of several runs also in one figure each."""
    panels = [history_panel(account) for account in accounts]
    return Section("How training went", HISTORY_LEAD, panels, overlaid=overlaid(accounts) if len(accounts) > 1 else ())


def overlaid(accounts: Sequence[Account]) -> list[Plot]:
    """The metrics that at least two runs have, one line per run."""
    shared = {"train_loss": "training loss", "judge_accuracy": "balanced accuracy on held-out given labels, %"}
    shared |= {name: f"{in_words(name)} on the test set, %" for account in accounts for name in account.tests[:1]}
    last = max((len(account.history) for account in accounts), default=0)
    drawn = []
    for key, what in shared.items():
        scale = 100 if what.endswith("%") else 1
        lines = {account.name: [scale * line.get(key, math.nan) for line in account.history] for account in accounts}
        lines = {name: values for name, values in lines.items() if any(map(math.isfinite, values))}
        if len(lines) > 1:
            alternative = f"{what} by epoch. " + " ".join(
                extremes(name, range(1, len(values) + 1), values) for name, values in lines.items()
            )
            padded = {name: values + [math.nan] * (last - len(values)) for name, values in lines.items()}
            figure = plot_history(range(1, last + 1), padded, what)
            drawn.append(Plot(figure, f"All runs: {what}", sentence(alternative)))
    return drawn


def history_panel(account: Account) -> Panel:
    """One run."""
    if not account.history:
        return Panel(["No epoch has finished yet."])
    accuracies = {name: in_words(name) for name in account.tests if "accuracy" in name}
    drawn = [
        history_plot(account, {"train_loss": "training samples", "train_meta_loss": "trusted samples"}, "loss"),
        history_plot(account, accuracies, "test accuracy, %", scale=100),
        history_plot(
            account, {"judge_accuracy": "held-out samples"}, "balanced accuracy on held-out given labels, %", scale=100
        ),
        history_plot(account, {"train_weight": "mean weight"}, "mean weight of a sample"),
        history_plot(account, {"train_pseudo_right": "pseudo-labels"}, "pseudo-labels that are right, %", scale=100),
        history_plot(account, PSEUDO_WEIGHTS, "mean weight of a pseudo-label"),
        history_plot(
            account,
            {"train_gradient_norm": "of the model", "train_meta_gradient_norm": "of the weighting function"},
            "gradient norm",
            log=True,
        ),
    ]
    words = []
    if "judge_keeps" in account.history[-1]:
        words.append(f"Judged by held-out given labels, epoch {account.kept['epoch']:.0f} was kept.")
    broken = next((line for line in account.history if not all(map(math.isfinite, line.values()))), None)
    if broken is not None:
        words.append(f"Some numbers are not finite, first in epoch {broken['epoch']:.0f}; their lines have gaps there.")
    return Panel(words, [each for each in drawn if each is not None])


def history_plot(
    account: Account, names: dict[str, str], what: str, scale: float = 1, log: bool = False
) -> Plot | None:
    """One line per metric that the run has; None if it has none of them."""
    epochs = [int(line["epoch"]) for line in account.history]
    each = [{**line, **pseudo_weights(line)} for line in account.history]
    lines = {
        name: [scale * line.get(key, math.nan) for line in each]
        for key, name in names.items()
        if any(math.isfinite(line.get(key, math.nan)) for line in each)
    }
    if not lines:
        return None
    alternative = f"{what} by epoch. " + " ".join(extremes(name, epochs, values) for name, values in lines.items())
    return Plot(plot_history(epochs, lines, what, log), sentence(what).rstrip("."), sentence(alternative))


def pseudo_weights(line: dict[str, float]) -> dict[str, float]:
    """The mean weights of right and of wrong pseudo-labels, from the numbers of an epoch; nothing if it has none."""
    if "train_pseudo_right" not in line:
        return {}
    right, mass = line["train_pseudo_right"], line["train_pseudo_right_weight"]
    return {
        "right_weight": mass / right if right > 0 else math.nan,
        "wrong_weight": (line["train_weight"] - mass) / (1 - right) if right < 1 else math.nan,
    }


def extremes(name: str, epochs: Sequence[int], values: Sequence[float]) -> str:
    """First, lowest, highest and last value of a line."""
    known = [(value, epoch) for epoch, value in zip(epochs, values, strict=True) if math.isfinite(value)]
    first, low, high, last = known[0], min(known), max(known), known[-1]
    each = {"first": first, "lowest": low, "highest": high, "last": last}
    return sentence(f"{name}: " + ", ".join(f"{word} {number(v)} in epoch {e}" for word, (v, e) in each.items()))


CONVERGENCE_LEAD = (
    "The squared norm of the gradient is measured at the start of each epoch, on samples that stay the same; the line "
    "shows the smallest value so far. The theorems say that in T steps it falls at least as fast as C / √T for some "
    "constant C. The dashed line is C / √T, starting at the first value. It is a bound for small learning rates, not a "
    "forecast."
)
LEVELS = {
    "train_squared_meta_gradient": "of the weighting function (Theorem 1)",
    "train_squared_gradient": "of the model (Theorem 2)",
}


def convergence_panel(account: Account) -> Panel:
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


convergence = each_run("Convergence", CONVERGENCE_LEAD, convergence_panel, optional=True, folded=True)
