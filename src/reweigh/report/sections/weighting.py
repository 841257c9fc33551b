"""Section: the learned weighting function of each family."""

import math
from collections.abc import Sequence

import numpy as np

from reweigh.names import plural
from reweigh.report.content import Panel, Plot, Section
from reweigh.report.figures import curves, plot_weighting, plot_weightings
from reweigh.report.figures.weighting import loss_limit
from reweigh.runs.account import Account
from reweigh.runs.words import Family, describe_families, family_name, sentence
from reweigh.weighting import num_curves

LEAD = (
    "While the model was trained, a small function learned how much each sample should count. It sees the {reads} "
    "of the sample, which is large if the model does not believe the given label, and the size of its class. A "
    "falling line means that hard samples are trusted less, which helps if labels are wrong. A rising line means that "
    "hard samples get more attention, which helps if labels are right and samples are few."
)
CLEAR = 0.1  # relative change of the weight that counts as falling or rising


def weighting(accounts: Sequence[Account]) -> Section:
    """How much a sample counts, given its loss and its class."""
    guess = max(
        math.log(max(len(account.classes.names), 2)) for account in accounts
    )  # beyond the loss of a guess, labels are doubtful
    end = max(loss_limit(np.concatenate([account.read for account in accounts])), guess)
    reads = " or the ".join(dict.fromkeys(account.origin.reads for account in accounts if account.net is not None))
    lead = LEAD.format(reads=reads or "loss")
    panels = [panel(account, end) for account in accounts]
    return Section("How much a sample counts", lead, panels, overlaid=overlaid(accounts, end))


def overlaid(accounts: Sequence[Account], end: float) -> list[Plot]:
    """The functions of several runs in one figure: those with a single family or with the most common number of them.

    Args:
        end: End of the axis of losses.
    """
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


def panel(account: Account, end: float) -> Panel:
    """One run.

    Args:
        end: End of the axis of losses, the same for all runs.
    """
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
    """What a curve does from its first point to its last.

    Args:
        what: What the weight depends on.
    """
    change = (line[-1] - line[0]) / max(line[0], line[-1], 1e-9)
    if abs(change) < CLEAR:
        return f"the weight hardly depends on the {what}"
    return f"the weight {'falls' if change < 0 else 'rises'} with the {what}"
