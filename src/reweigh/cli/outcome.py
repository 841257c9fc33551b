"""Tell what a run came to: its numbers, the learned curves, and where to look next."""

import json
import math
import tomllib
from typing import TYPE_CHECKING

from reweigh.cli.curves import draw
from reweigh.cli.printing import console, show_table

if TYPE_CHECKING:
    from rich.text import Text

    from reweigh.recipes.perform import Outcome
    from reweigh.training import Run


def show_outcome(outcome: "Outcome") -> None:
    """Print the end of ``reweigh train``."""
    from reweigh.recipes.perform import describe

    out = console()
    last, best = outcome.result.last, outcome.result.best
    tests = [name for name in last if name.startswith("test_")]
    rows = [[plain(name), percent(last[name]), percent(best[name])] for name in tests]
    title = f"{outcome.recipe.method.name} on {describe(outcome.recipe)}"
    show_table(title, ["test", f"last epoch ({last['epoch']})", f"best epoch ({best['epoch']})"], rows, True)
    if found := trust(outcome):
        out.print(found + "\n")
    if curves := learned_curves(outcome.run):
        out.print(curves)
    out.print(f"Run folder: {outcome.run.path}")
    if outcome.run.samples.exists():
        out.print(
            f"Next: reweigh issues {outcome.run.path} lists the labels to look at first; reweigh report tells all."
        )


def learned_curves(run: "Run") -> "Text | None":
    """The weight that each family gives to a loss, from the folder of a run; None if nothing was learned there."""
    import torch

    from reweigh.families import by_size
    from reweigh.report.families import describe
    from reweigh.weighting import load_weighting

    if not run.weighting.exists():
        return None
    weighting, origin = load_weighting(run.weighting)
    classes = json.loads(run.classes.read_text(encoding="utf-8")) if run.classes.exists() else None
    many = len(classes["names"]) if classes else 10  # a run of an early version does not tell
    max_loss = 3 * math.log(many)  # a pure guess has a loss of log(many); see well beyond it
    losses = torch.linspace(0, max_loss, 121)
    with torch.no_grad():
        curves = [
            weighting(losses, torch.full((len(losses),), family)).tolist() for family in range(weighting.num_families)
        ]
    if tomllib.loads(run.recipe.read_text(encoding="utf-8"))["method"].get("weighting"):
        labels = [f"family {place} of where it was learned" for place in range(len(curves))]
        if origin.centers and origin.learned_on:
            labels = [f"classes of about {size:.0f} samples in {origin.learned_on}" for size in origin.centers]
    elif classes:
        families = classes["families"] or by_size(torch.tensor(classes["sizes"]), len(curves)).of_class.tolist()
        found = describe(len(curves), families, classes["names"], classes["sizes"])
        labels = [family.words for family in found]
    else:
        labels = [f"classes of about {size:.0f} samples" for size in origin.centers]
    return draw(curves, labels, max_loss)


def trust(outcome: "Outcome") -> str | None:
    """How the weights of right and wrong labels differ, where it is known which are wrong."""
    weights, train_set = outcome.assembly.method.sample_weights(), outcome.assembly.splits.train
    if weights is None or train_set.true_labels is None or train_set.candidates is not None:
        return None
    labels, seen, word = train_set.labels, train_set.labels >= 0, "label"
    if not bool(seen.all()):
        labels, word = outcome.assembly.method.guesses(), "pseudo-label"  # pyright: ignore[reportAttributeAccessIssue]
        seen = ~seen & (labels >= 0)
    wrong = labels != train_set.true_labels
    if not wrong[seen].any() or wrong[seen].all():
        return None
    right_mean, wrong_mean = (weights[mask].nanmean().item() for mask in (seen & ~wrong, seen & wrong))
    return (
        f"{wrong[seen].double().mean():.0%} of the training {word}s are wrong; "
        f"mean weight of right {word}s {right_mean:.2f}, of wrong ones {wrong_mean:.2f}"
    )


def plain(name: str) -> str:
    """A number's name in words."""
    return name.removeprefix("test_").replace("_", " ")


def percent(share: float) -> str:
    """A share in percent, to two decimals."""
    return f"{100 * share:.2f}"
