"""Section: the learned weighting function of each family."""

import math
from collections.abc import Sequence

import numpy as np

from reweigh.report.account import Account
from reweigh.report.content import Panel, Plot, Section
from reweigh.report.families import Family, describe
from reweigh.report.figures import curves, plot_weighting
from reweigh.report.figures.weighting import loss_limit
from reweigh.report.words import sentence, several

LEAD = (
    "While the model was trained, a small function learned how much each sample should count. It looks at the sample's "
    "loss, which is large where the model does not believe the given label, and at the size of its class. A falling "
    "line means that hard samples are trusted less, as is right where labels are wrong; a rising line means that they "
    "get more attention, as is right where labels are sound and samples few."
)
CLEAR = 0.1  # share by which a weight must change along the losses to be called falling or rising


def weighting(accounts: Sequence[Account]) -> Section:
    """How much a sample counts, given its loss and its class."""
    guess = max(math.log(max(len(account.classes.names), 2)) for account in accounts)  # beyond it labels are doubtful
    end = max(loss_limit(np.concatenate([account.losses for account in accounts])), guess)
    return Section("How much a sample counts", LEAD, [panel(account, end) for account in accounts])


def panel(account: Account, end: float) -> Panel:
    """Of one run.

    Args:
        end: of the axis of losses, the same for all runs.
    """
    if account.net is None:
        return Panel([f"The method {account.method} has no weighting function that could be drawn."])
    known = account.losses
    families = described(account)
    at = np.array([0, end / 2, end])
    weights = curves(account.net, at)
    families = [
        family._replace(learned=sentence(f"{tendency(line)}: {line[0]:.2f} at loss 0, {line[2]:.2f} at loss {end:.1f}"))
        for family, line in zip(families, weights, strict=True)
    ]
    alternative = "Weight against loss. " + " ".join(
        f"{family.name} ({family.words}): weight "
        + ", ".join(f"{weight:.2f} at loss {loss:.1f}" for loss, weight in zip(at, line, strict=True))
        + "."
        for family, line in zip(families, weights, strict=True)
    )
    if len(known):
        alternative += (
            f" Below: half of the {several(len(known), 'training sample')} have a loss under {np.median(known):.2f}, "
            f"nine in ten under {np.quantile(known, 0.9):.2f}."
        )
    names = [family.name for family in families]
    figure = plot_weighting(account.net, known, names, end)
    plot = Plot(figure, "Weight of a sample by its loss, a line for each family of classes", alternative)
    return Panel(plots=[plot], families=families)


def described(account: Account) -> list[Family]:
    """The families of a run in words: by the classes of its data, or by those of where the function was learned."""
    assert account.net is not None
    count, classes = account.net.num_families, account.classes
    of_class = classes.families or ((0,) * len(classes.names) if count == 1 else ())
    if of_class and classes.sizes:
        return describe(count, of_class, classes.names, classes.sizes)
    centers = account.origin.centers if len(account.origin.centers) == count else [float("nan")] * count
    where = f" in {account.origin.learned_on}" if account.origin.learned_on else ""
    return [
        family._replace(words=f"classes of about {center:,.0f} samples{where}" if center == center else "not described")
        for family, center in zip(describe(count, (), (), ()), centers, strict=True)
    ]


def tendency(line: np.ndarray) -> str:
    """What a curve does from its first point to its last."""
    change = (line[-1] - line[0]) / max(line[0], line[-1], 1e-9)
    if abs(change) < CLEAR:
        return "the weight is nearly the same whatever the loss"
    return "the weight falls with the loss" if change < 0 else "the weight rises with the loss"
