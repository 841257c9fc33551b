"""``reweigh tables``: the paper's tables, the command for each cell, and the results of runs made here."""

import shlex
import time
from collections.abc import Sequence
from math import isnan, nan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from reweigh.cli.printing import echo, show_table

if TYPE_CHECKING:
    from reweigh.plan import Plan
    from reweigh.recipes.published import Cell, PaperTable

WIDTH, NUMBERS = 96, 11  # characters: of a terminal, and of two numbers
COST = (
    "Estimated from a few steps of plain training on random images. Methods that learn weights take about 1.2 times as "
    "long with a meta step in every tenth step, 3 times with one in each."
)
COSTLY = ("model", "train.", "data.name")  # changes of a recipe on which the time of a run depends
FEW, STEPS = 16, 2  # images in a timed step, and steps
SHAPES = {"mnist": (1, 28, 28), "fashion-mnist": (1, 28, 28), "kmnist": (1, 28, 28)}
SMALL = (3, 32, 32)


def tables(
    name: Annotated[
        str | None, typer.Argument(metavar="TABLE", help="1 to 10, or another name that reweigh tables lists.")
    ] = None,
    runs: Annotated[Path, typer.Option(help="Folder of finished runs.")] = Path("runs/tables"),
    commands: Annotated[bool, typer.Option("--commands", help="Print the command that makes each cell.")] = False,
    cost: Annotated[
        bool, typer.Option("--cost", help="Time a few steps to estimate how long a run takes here.")
    ] = False,
) -> None:
    """Show the paper's tables next to your own runs.

    Without TABLE, lists the tables and the recipes that make them. With TABLE, shows each number of the paper and,
    after it, that of the matching run in --runs.
    """
    from reweigh.recipes.published import names, table

    if name is None:
        shown = list(map(table, names()))
        head = ["table", "what it compares", "runs", "recipes", *(["hours for a run"] if cost else [])]
        rows = [[*_about(each), *([", ".join(_hours(each).values())] if cost else [])] for each in shown]
        show_table("The paper's tables", head, rows)
        echo("reweigh tables TABLE shows one of them, reweigh tables TABLE --commands how to make it.")
        if cost:
            echo(COST)
        return
    shown = table(name)
    if commands:
        for command in dict.fromkeys(_command(shown, cell, runs) for cell in _cells(shown)):
            echo(command)
        return
    if cost:
        for kind, each in _hours(shown).items():
            echo(f"{kind}: {each} hours for each run.")
        echo(COST)
        return
    title = f"Table {name}: {shown.title}; {shown.measure} in percent, paper / here"
    for methods in _side_by_side(list(shown.rows), max(map(len, shown.columns))):
        rows = [
            [column, *(_number(shown, [(cell := shown.rows[row][place])], cell.paper, runs) for row in methods)]
            for place, column in enumerate(shown.columns)
        ]
        if shown.averages:
            means = (_number(shown, shown.rows[row], shown.averages[row], runs) for row in methods)
            rows.append(["average", *means])
        show_table(title, ["", *methods], rows, numbers=True)
    echo(shown.about)


def _side_by_side(names: list[str], first: int) -> list[list[str]]:
    """Names of columns in groups that fit a terminal, beside a first column of that width."""
    groups: list[list[str]] = [[]]
    for name in names:
        if groups[-1] and first + sum(max(len(each), NUMBERS) + 2 for each in [*groups[-1], name]) > WIDTH:
            groups.append([])
        groups[-1].append(name)
    return groups


def _about(shown: "PaperTable") -> list[str]:
    runs = str(len({cell.run for cell in _cells(shown)}))
    return [shown.name, shown.title, runs, ", ".join(_kinds(shown))]


def _cells(shown: "PaperTable") -> list["Cell"]:
    """The cells of a table that can be made here."""
    return [cell for row in shown.rows.values() for cell in row if cell.method]


def _kinds(shown: "PaperTable") -> dict[str, "Plan"]:
    """The kinds of runs that make a table, in words, and a plan of each; one kind costs about the same."""
    from reweigh.recipes.check import check
    from reweigh.recipes.read import read

    found = {}
    for recipe, *changes in dict.fromkeys(
        (cell.recipe, *(change for change in cell.changes if change.startswith(COSTLY))) for cell in _cells(shown)
    ):
        plan = check(read(recipe, changes))
        assert plan.model is not None
        found.setdefault(f"{recipe} ({plan.train['epochs']} epochs, {plan.model.name})", plan)
    return found


def _hours(shown: "PaperTable") -> dict[str, str]:
    """Hours of plain training for each kind of run of a table."""
    found = {kind: hours(plan, shown.samples, shown.classes) for kind, plan in _kinds(shown).items()}
    return {kind: f"{each:,.0f}" if each >= 10 else f"{each:.1g}" for kind, each in found.items()}


def _command(shown: "PaperTable", cell: "Cell", runs: Path) -> str:
    changes = [*cell.changes, f"method.name={cell.method}", "--out", str(runs / shown.name / cell.run)]
    return " ".join(["reweigh train", cell.recipe, *map(shlex.quote, changes)])


def _number(shown: "PaperTable", cells: Sequence["Cell"], paper: float, runs: Path) -> str:
    """The paper's number and ours, the mean over these cells, if their runs are finished."""
    found = [ours for cell in cells if (ours := _ours(shown, cell, runs)) is not None]
    text = "-" if isnan(paper) else f"{paper:g}"
    if len(found) < len(cells):
        return text
    mean = sum(found) / len(found)
    return f"{text} / {'-' if isnan(mean) else f'{mean:.1f}'}"


def _ours(shown: "PaperTable", cell: "Cell", runs: Path) -> float | None:
    """The number of a finished run, in percent; NaN if the run has none, None if it is not finished."""
    from reweigh.training import Result, Run
    from reweigh.training.status import status

    run = Run(runs / shown.name / cell.run)
    if status(run) != "finished":
        return None
    result = Result(run.read_metrics())
    share = (result.last_ten if shown.epoch == "last-ten" else result.kept).get(cell.metric, nan)
    return 100 * (1 - share if shown.measure == "error" and "error" not in cell.metric else share)


def hours(plan: "Plan", samples: int, classes: int) -> float:
    """Hours that plain training by a plan takes here, without reading its data.

    Args:
        samples: Number of training samples.
        classes: Number of classes.
    """
    import torch
    import torch.nn.functional as F

    from reweigh.fit.trainer import builder

    size = plan.source.options.get("size")
    shape = (3, size, size) if size else SHAPES.get(plan.source.name, SMALL)
    assert plan.model is not None
    model = builder(plan.model)(shape, classes)
    images, labels = torch.randn(FEW, *shape), torch.arange(FEW) % classes
    taken = []
    for _ in range(1 + STEPS):  # the first is slower than the others
        begun = time.perf_counter()
        F.cross_entropy(model(images), labels).backward()
        taken.append(time.perf_counter() - begun)
    return min(taken) / FEW * samples * plan.train["epochs"] / 3600
