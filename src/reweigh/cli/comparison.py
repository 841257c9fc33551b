"""Set methods side by side: mean and spread over seeds, the best epoch beside the last."""

import json
import statistics
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reweigh.cli.outcome import learned_curves, plain
from reweigh.cli.printing import console, show_table

if TYPE_CHECKING:
    from reweigh.recipes.perform import Outcome

Outcomes = dict[str, "list[Outcome]"]


def show_comparison(outcomes: Outcomes, folder: Path) -> None:
    """Print the end of ``reweigh compare``: the table, a drawing of what was learned, the runs."""
    out = console()
    runs = [outcome for found in outcomes.values() for outcome in found]
    tests = [name for name in runs[0].result.last if name.startswith("test_")]
    seeds = [outcome.recipe.train["seed"] for outcome in next(iter(outcomes.values()))]
    for found in outcomes.values():
        if curves := learned_curves(found[0]):
            out.print(f"What {found[0].recipe.method.name} learned (seed {seeds[0]}):", style="bold")
            out.print(curves)
    columns = [
        "method",
        *(plain(name) for name in tests),
        *(f"best epoch's {plain(name)}" for name in tests[:1]),
        "seconds",
    ]
    rows = [
        [
            method,
            *(spread([100 * outcome.result.last[name] for outcome in found]) for name in tests),
            *(spread([100 * outcome.result.best[name] for outcome in found]) for name in tests[:1]),
            f"{statistics.mean(seconds(outcome) for outcome in found):.1f}",
        ]
        for method, found in outcomes.items()
    ]
    title = f"Test results in percent after the last epoch, {spread_of(len(seeds))}"
    show_table(title, columns, rows, numbers=True)
    out.print(f"Runs: {folder} ({len(runs)} folders, each with recipe, metrics, summary, model and samples)")
    out.print(f"Next: reweigh show {runs[-1].run.path} prints the recipe of a run; samples.csv tells whom to distrust.")


def spread_of(count: int) -> str:
    """What the numbers are, in words."""
    return "one seed" if count == 1 else f"mean and standard deviation over {count} seeds"


def spread(values: list[float]) -> str:
    """Mean, and standard deviation where there are several."""
    mean = f"{statistics.mean(values):.2f}"
    return mean if len(values) == 1 else f"{mean} ± {statistics.stdev(values):.2f}"


def seconds(outcome: "Outcome") -> float:
    """Training time of a run, in all its lives."""
    return sum(line["seconds"] for line in outcome.result.history)


def to_json(source: str, outcomes: Outcomes) -> str:
    """The numbers of every run, by method."""
    content: dict[str, Any] = {"recipe": source, "methods": {}}
    for method, found in outcomes.items():
        content["methods"][method] = [
            {
                "seed": outcome.recipe.train["seed"],
                "run": str(outcome.run.path),
                "seconds": seconds(outcome),
                "last": outcome.result.last,
                "best": outcome.result.best,
            }
            for outcome in found
        ]
    return json.dumps(content, indent=2) + "\n"
