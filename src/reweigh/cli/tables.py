"""``reweigh tables``: the paper's tables, the command for each cell, and the results of runs made here."""

import shlex
import time
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from reweigh.cli.printing import echo, show_table

if TYPE_CHECKING:
    from reweigh.recipes.published import Cell, PaperTable

WIDTH, NUMBERS = 96, 11  # characters: of a terminal, and of two numbers
COST = (
    "Estimated from a few steps of plain training on random images. Methods that learn weights take about 1.2 times as "
    "long with a meta step in every tenth step, 3 times with one in each."
)
FEW, STEPS = 16, 2  # images in a timed step, and steps
SHAPES = {"mnist": (1, 28, 28), "fashion-mnist": (1, 28, 28), "kmnist": (1, 28, 28)}
SMALL = (3, 32, 32)


def tables(
    name: Annotated[
        str | None, typer.Argument(metavar="TABLE", help="1 to 10, or another name that reweigh tables lists.")
    ] = None,
    runs: Annotated[Path, typer.Option(help="Folder of finished runs.")] = Path("runs/tables"),
    commands: Annotated[bool, typer.Option("--commands", help="Print the command that makes each cell.")] = False,
    cost: Annotated[bool, typer.Option("--cost", help="Time a few steps: how long a run would take here.")] = False,
) -> None:
    """Show the paper's tables next to your own runs.

    Without TABLE: which tables there are, and which recipes make them. With TABLE: each number of the paper and,
    after it, that of the matching run in --runs. --commands prints how to make them, and --cost how long each would
    take on this computer.
    """
    from reweigh.recipes.published import names, table

    if name is None:
        shown = list(map(table, names()))
        head = ["table", "what it compares", "runs", "recipes", *(["hours for a run"] if cost else [])]
        show_table("The paper's tables", head, [[*_about(each), *(_hours(each) if cost else [])] for each in shown])
        echo("reweigh tables TABLE shows one of them, reweigh tables TABLE --commands how to make it.")
        if cost:
            echo(COST)
        return
    shown = table(name)
    if commands:
        cells = [cell for row in shown.rows.values() for cell in row if cell.method]
        for command in dict.fromkeys(_command(shown, cell, runs) for cell in cells):
            echo(command)
        return
    if cost:
        echo(f"{_about(shown)[3]}: {_hours(shown)[0]} hours for each run. {COST}")
        return
    title = f"Table {name}: {shown.title}; {shown.measure} in percent, paper / here"
    for methods in _side_by_side(list(shown.rows), max(map(len, shown.columns))):
        rows = [
            [column, *(_number(shown, shown.rows[row][place], runs) for row in methods)]
            for place, column in enumerate(shown.columns)
        ]
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
    cells = [cell for row in shown.rows.values() for cell in row if cell.method]
    recipes = dict.fromkeys(cell.recipe for cell in cells)
    runs = str(len({cell.run for cell in cells}))
    return [shown.name, shown.title, runs, ", ".join(f"{recipe} ({_epochs(recipe)})" for recipe in recipes)]


def _epochs(recipe: str) -> str:
    from reweigh.recipes.check import check
    from reweigh.recipes.read import read

    plan = check(read(recipe))
    return f"{plan.train['epochs']} epochs"


def _hours(shown: "PaperTable") -> list[str]:
    """Hours of plain training by each recipe of a table."""
    recipes = dict.fromkeys(cell.recipe for row in shown.rows.values() for cell in row if cell.method)
    found = {recipe: hours(recipe, shown.samples, shown.classes) for recipe in recipes}
    return [", ".join(f"{each:,.0f}" if each >= 10 else f"{each:.1g}" for each in found.values())]


def _command(shown: "PaperTable", cell: "Cell", runs: Path) -> str:
    changes = [*cell.changes, f"method.name={cell.method}", "--out", str(runs / shown.name / cell.run)]
    return " ".join(["reweigh train", cell.recipe, *map(shlex.quote, changes)])


def _number(shown: "PaperTable", cell: "Cell", runs: Path) -> str:
    """The paper's number and ours, if the run is finished."""
    from reweigh.training import Result, Run
    from reweigh.training.status import status

    paper = "-" if isnan(cell.paper) else f"{cell.paper:g}"
    run = Run(runs / shown.name / cell.run)
    if status(run) != "finished":
        return paper
    result = Result(run.read_metrics())
    share = (result.last_ten if shown.epoch == "last-ten" else result.kept).get(cell.metric)
    if share is None:
        return f"{paper} / -"
    wrong = shown.measure == "error" and "error" not in cell.metric
    return f"{paper} / {100 * (1 - share if wrong else share):.1f}"


def hours(recipe: str, samples: int, classes: int) -> float:
    """Hours that plain training by a recipe takes here, without reading its data.

    Args:
        recipe: name of a shipped recipe.
        samples: number of training samples.
        classes: number of classes.
    """
    import torch
    import torch.nn.functional as F

    from reweigh.fit.trainer import builder
    from reweigh.recipes.check import check
    from reweigh.recipes.read import read

    plan = check(read(recipe))
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
