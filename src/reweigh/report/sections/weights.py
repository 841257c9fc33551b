"""Sections about weights: the learned function, the weights of the samples, and the losses behind them."""

import math
from collections.abc import Sequence

import numpy as np

from reweigh.names import plural
from reweigh.report.content import Panel, Plot, Section
from reweigh.report.figures import curves, plot_losses, plot_weighting, plot_weightings, plot_weights
from reweigh.report.figures.weights import loss_limit
from reweigh.runs.read import Account
from reweigh.runs.words import Family, describe_families, family_name, percent, sentence
from reweigh.weighting import num_curves

MIN_RELATIVE_CHANGE = 0.1  # relative change of the weight that counts as falling or rising
MAX_CLASSES_OF_LOSSES = 12  # classes in one figure
WEIGHTING_LEAD = (
    "While the model was trained, a small function learned how much each sample should count. It sees the {reads} "
    "of the sample, which is large if the model does not believe the given label, and the size of its class. A "
    "falling line means that hard samples are trusted less, which helps if labels are wrong. A rising line means that "
    "hard samples get more attention, which helps if labels are right and samples are few."
)


def weighting(accounts: Sequence[Account]) -> Section:
    """How much a sample counts, given its loss and its class."""
    guess = max(
        math.log(max(len(account.classes.names), 2)) for account in accounts
    )  # beyond the loss of a guess, labels are doubtful
    end = max(loss_limit(np.concatenate([account.read for account in accounts])), guess)
    reads = " or the ".join(dict.fromkeys(account.origin.reads for account in accounts if account.net is not None))
    lead = WEIGHTING_LEAD.format(reads=reads or "loss")
    panels = [weighting_panel(account, end) for account in accounts]
    return Section("How much a sample counts", lead, panels, overlaid=overlaid_curves(accounts, end))


def overlaid_curves(accounts: Sequence[Account], end: float) -> list[Plot]:
    """The functions of several runs in one figure: those with one family or with the most common number of them."""
    known = {account.name: account.net for account in accounts if account.net and account.origin.reads == "loss"}
    counts = [num_curves(net, 1) for net in known.values()]
    several = [count for count in counts if count > 1]
    usual = max(several, key=lambda count: (several.count(count), count), default=1)
    nets = {run: net for (run, net), count in zip(known.items(), counts, strict=True) if count in (1, usual)}
    if len(nets) < 2:
        return []
    at = np.array([0, end / 2, end])
    alternative = f"Weights at loss 0, {end / 2:.1f} and {end:.1f}, family by family." + "".join(
        f" {run}: " + "; ".join(", ".join(f"{weight:.2f}" for weight in line) for line in curves(net, at)) + "."
        for run, net in nets.items()
    )
    figure = plot_weightings(nets, [family_name(family, usual) for family in range(usual)], end)
    return [Plot(figure, "All runs: weight of a sample by its loss", alternative)]


def weighting_panel(account: Account, end: float) -> Panel:
    """One run."""
    if account.net is None:
        return Panel([f"The method {account.method} has no weighting function to draw."])
    known, what = account.read, account.origin.reads
    families = described(account)
    at = np.array([0, end / 2, end])
    weights = curves(account.net, at)
    families = [
        family._replace(
            learned=sentence(f"{tendency(line, what)}: {line[0]:.2f} at {what} 0, {line[2]:.2f} at {what} {end:.1f}")
        )
        for family, line in zip(families, weights, strict=True)
    ]
    alternative = f"Weight against {what}. " + " ".join(
        f"{family.name} ({family.words}): weight "
        + ", ".join(f"{weight:.2f} at {what} {loss:.1f}" for loss, weight in zip(at, line, strict=True))
        + "."
        for family, line in zip(families, weights, strict=True)
    )
    if len(known):
        alternative += (
            f" Below: half of the {plural(len(known), 'training sample')} have a {what} under {np.median(known):.2f}, "
            f"nine in ten under {np.quantile(known, 0.9):.2f}."
        )
    names = [family.name for family in families]
    figure = plot_weighting(account.net, known, names, end, what=what)
    plot = Plot(figure, f"Weight of a sample by its {what}, one line per family of classes", alternative)
    return Panel(plots=[plot], families=families)


def described(account: Account) -> list[Family]:
    """The families of a run in words: the classes of its data, or of the data where the function was learned."""
    assert account.net is not None
    count, classes = num_curves(account.net, 1), account.classes
    of_class = classes.families or ((0,) * len(classes.names) if count == 1 else ())
    if of_class and classes.sizes:
        return describe_families(count, of_class, classes.names, classes.sizes)
    centers = account.origin.centers if len(account.origin.centers) == count else [float("nan")] * count
    where = f" in {account.origin.learned_on}" if account.origin.learned_on else ""
    return [
        family._replace(words=f"classes of about {center:,.0f} samples{where}" if center == center else "unknown size")
        for family, center in zip(describe_families(count, (), (), ()), centers, strict=True)
    ]


def tendency(line: np.ndarray, what: str = "loss") -> str:
    """What a curve does from its first point to its last."""
    change = (line[-1] - line[0]) / max(line[0], line[-1], 1e-9)
    if abs(change) < MIN_RELATIVE_CHANGE:
        return f"the weight hardly depends on the {what}"
    return f"the weight {'falls' if change < 0 else 'rises'} with the {what}"


WEIGHTS_LEAD = (
    "Mean weight of each training sample during training. A sample with a weight near zero was almost ignored. If the "
    "true labels are known, two peaks far apart mean that wrong labels were recognized."
)


def weights(accounts: Sequence[Account]) -> Section:
    """Histograms of the weights."""
    known = [account.samples.weight for account in accounts if account.samples is not None]
    top = max((float(np.nanmax(weight)) for weight in known if weight is not None), default=1.0)
    return Section("Which samples were trusted", WEIGHTS_LEAD, [weights_panel(account, top) for account in accounts])


def weights_panel(account: Account, top: float) -> Panel:
    """One run."""
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
            f"right one in {percent(lower_share(wrong, right))} of all pairs (50% is chance)."
        )
    figure = plot_weights(samples.weight, samples.mistaken, top)
    alternative = f"Histogram of {plural(len(found), 'weight')} between 0 and {found.max():.2f}. {words}"
    return Panel([words], [Plot(figure, "Weights of the training samples", alternative)])


def spread(found: np.ndarray) -> str:
    """The range of the middle 80 percent."""
    low, high = np.quantile(found, [0.1, 0.9])
    return f"80% are between {low:.2f} and {high:.2f}"


def lower_share(wrong: np.ndarray, right: np.ndarray) -> float:
    """The share of pairs in which the wrong one has the lower weight (the area under the ROC curve)."""
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(np.repeat([0, 1], [len(wrong), len(right)]), np.concatenate([wrong, right])))


LOSSES_LEAD = (
    "Distribution of the losses at the end of training, by given label. A second peak at high losses is a group of "
    "samples whose labels the model does not believe, perhaps because they are wrong. Heights are square roots, "
    "so that small groups are visible."
)


def losses(accounts: Sequence[Account]) -> Section:
    """Loss density by class."""
    end = loss_limit(np.concatenate([account.losses for account in accounts]))
    return Section(
        "Losses of each class", LOSSES_LEAD, [losses_panel(account, end) for account in accounts], folded=True
    )


def losses_panel(account: Account, end: float) -> Panel:
    """One run."""
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
    shown = sorted(hardest[:MAX_CLASSES_OF_LOSSES])
    top = hardest[0]
    words = [f"The hardest class is “{classes.names[top]}” with a mean loss of {means[top][1]:.2f}, "
             f"the easiest “{classes.names[hardest[-1]]}” with {means[hardest[-1]][1]:.2f}."]  # fmt: skip
    if len(shown) < len(means):
        words.append(
            f"The figure shows the {MAX_CLASSES_OF_LOSSES} of {plural(len(means), 'class', 'classes')} with the "
            "highest mean loss."
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
