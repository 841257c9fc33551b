"""The section about probabilities: for what they hold, whether they do, and what each threshold leads to."""

import math

import numpy as np

from reweigh.issues.reliability import LEAST, LEAST_OF_CLASS, by_threshold, reliability
from reweigh.names import listed, plural
from reweigh.report.content import Panel, Plot, each_run
from reweigh.report.figures.history import plot_reliability, plot_thresholds
from reweigh.runs.headline import held_out
from reweigh.runs.read import Account
from reweigh.runs.words import number, percent

LEAD = (
    f"Of the predictions with a probability of {percent(0.8)}, {percent(0.8)} should be right. Samples that the model "
    f"was not trained on show whether that holds, in bins of at least {LEAST}; vertical lines are 90% limits."
)
NOTHING = "The run does not hold predictions for held-out samples."
THRESHOLDS, HALF = np.linspace(0.02, 0.98, 49), 24  # place of one half
MISSES = {"if a miss costs 1": 1.0, "if a miss costs 5": 5.0}
NEAR = 0.02  # difference of class shares that does not matter


def probabilities_panel(account: Account) -> Panel:
    """One run."""
    tested, decision, names, words = account.tested, account.decision, account.classes.names, [holds_for(account)]
    if tested is None or (sure := tested.probability) is None or tested.right is None:
        return Panel([*words, NOTHING])
    inside = (tested.label >= 0) & (tested.label < len(names)) & np.isfinite(tested.right) & (sure >= 0) & (sure <= 1)
    labels, predicted, right, sure = (each[inside] for each in (tested.label, tested.predicted, tested.right, sure))
    if (n := len(labels)) < LEAST:
        return Panel([*words, f"{plural(n, 'held-out label')}: too few to show whether they hold ({LEAST} needed)."])
    error, true, doubt = 0.0, "on given labels", ""
    if "true_accuracy" in account.kept:  # what its error has beyond that of the samples is that of the confusion
        whole, true = account.kept.get("true_accuracy_error", math.nan), "on true labels, as estimated"
        error = max(min(abs(whole), 1.0) ** 2 - float(right.var()) / n, 0.0) ** 0.5 if math.isfinite(whole) else 1.0
        doubt = f"; on true labels it would be about {percent(float(np.clip(right.mean(), 0, 1)))}"
        finding = account.classes.finding
        if finding is None or not any(finding.low):
            doubt += " if the estimated confusion of the labels is right, which labels alone do not settle"
    elif held_out(account):
        doubt = "; how often labels are wrong is not known well enough to correct this"
    bins = reliability(sure, labels == predicted, right, error)
    words.append(
        f"The likeliest class has a probability of {percent(float(sure.mean()))} on average, and is the label of "
        f"{percent(float((labels == predicted).mean()))} of {n:,} held-out samples{doubt}."
    )
    met = np.bincount(labels, minlength=len(names))[: len(names)] / n  # a test set of its own may have its own shares
    met = decision.estimated if decision and held_out(account) else met
    if decision is None or decision.shares is None or np.abs(np.subtract(decision.shares, met)).max() > NEAR:
        words.append("These samples may have other class shares than the probabilities are for, and so leave the line.")
    else:
        beyond = int(((bins[1] < bins[4]) | (bins[1] > bins[5])).sum())
        words.append(f"{beyond} of {plural(bins.shape[1], 'bin')} outside the limits, where one in ten lies by chance.")
    each = [f"{percent(p)}: {percent(r)} of {m:,.0f}" for m, p, _, r, _, _ in bins.T.tolist()]
    told = f"By probability, {true}: {listed(each, len(each))}."
    plots = [Plot(plot_reliability(bins, true), "Whether the probabilities hold", told)]
    if len(names) == 2:
        rarer = int(np.argmin(decision.estimated if decision else np.bincount(labels, minlength=2)[:2]))
        counts = np.where(predicted == rarer, right, 1 - right)  # what a label counts for two classes sums to 1
        few = counts.sum() < LEAST_OF_CLASS
        known = (
            "too few to show what thresholds lead to" if few else "where few are predicted as it, precision is unsure"
        )
        words.append(f"About {max(counts.sum(), 0):,.0f} samples are “{names[rarer]}”, the rarer class; {known}.")
        if not few:
            plots.append(_thresholds(np.where(predicted == rarer, sure, 1 - sure), counts, names[rarer], true))
    return Panel(words, plots)


probabilities = each_run("Probabilities", LEAD, probabilities_panel)


def holds_for(account: Account) -> str:
    """For which class shares and temperature the probabilities hold, and whether they are calibrated."""
    decision = account.decision
    if decision is None:
        return "The run does not say for which class shares its probabilities hold."
    shares = decision.contained if decision.shares is None else decision.shares
    told = listed([f"{name} {percent(share)}" for name, share in zip(account.classes.names, shares, strict=True)])
    if decision.shares is None:
        return f"The probabilities are those of the model, trained for class shares of {told}; they are not calibrated."
    calibrated = f"calibrated on {decision.calibrated:,} labels held out of training"
    if not decision.calibrated:
        calibrated = "not calibrated, because no labels, or too few, were held out of training for it"
    softened = f"a temperature of {number(decision.temperature)}; {calibrated}"
    return f"The probabilities are for class shares of {told} and {softened}."


def _thresholds(probability: np.ndarray, counts: np.ndarray, name: str, true: str) -> Plot:
    found = {words: by_threshold(probability, counts, THRESHOLDS, miss) for words, miss in MISSES.items()}
    rates, costs = next(iter(found.values()))[:2], {words: each[2] for words, each in found.items()}
    best = [f"{words}, at {percent(float(THRESHOLDS[each.argmin()]))}" for words, each in costs.items()]
    half, precision, recall = map(percent, (THRESHOLDS[HALF], *rates[:, HALF]))
    told = f"From {half} on: precision {precision}, recall {recall}. Lowest cost {listed(best)}."
    return Plot(plot_thresholds(THRESHOLDS, rates, costs), f"Thresholds for “{name}”, {true}", told)
