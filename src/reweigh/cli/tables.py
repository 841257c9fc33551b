"""``reweigh tables``: the paper's tables, the command for each cell, and the results of runs made here."""

import shlex
from collections.abc import Sequence
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from reweigh.cli.printing import echo, show_table
from reweigh.names import listed

if TYPE_CHECKING:
    from reweigh.recipes.published import Cell, PaperTable

TERMINAL_WIDTH, NUMBERS_WIDTH = 96, 11  # characters: of a terminal, and of two numbers
KINDS = ("model", "train.", "data.name")  # changes of a recipe that make it another kind of run


def tables(
    name: Annotated[
        str | None, typer.Argument(metavar="TABLE", help="1 to 10, or another name that reweigh tables lists.")
    ] = None,
    runs: Annotated[Path, typer.Option(help="Folder of finished runs.")] = Path("runs/tables"),
    seeds: Annotated[int, typer.Option(min=1, help="Number of seeds; their mean and spread are shown.")] = 1,
    commands: Annotated[bool, typer.Option("--commands", help="Print the command that makes each cell.")] = False,
) -> None:
    """Show the paper's tables next to your own runs.

    Without TABLE, lists the tables and the recipes that make them. With TABLE, shows each number of the paper and,
    after it, that of the matching run in --runs. Runs that were not trained as in the paper are marked.
    """
    from reweigh.recipes.published import names, table

    if name is None:
        rows = [
            [each.name, each.title, str(len({cell.run for cell in _cells(each)})), ", ".join(_kinds(each))]
            for each in map(table, names())
        ]
        show_table("The paper's tables", ["table", "what it compares", "runs", "recipes"], rows)
        echo("reweigh tables TABLE shows one of them, reweigh tables TABLE --commands how to make it.")
        return
    shown = table(name)
    if commands:
        for command in _commands(shown, runs, seeds):
            echo(command)
        return
    title = f"Table {name}: {shown.title}; {shown.measure} in percent, paper / here"
    differ: set[str] = set()

    def beside(cells: Sequence["Cell"], paper: float) -> str:
        text, other = _beside(shown, cells, paper, runs, seeds)
        differ.update(other)
        return text

    width = NUMBERS_WIDTH if seeds == 1 else 2 * NUMBERS_WIDTH
    groups, first = [[]], max(map(len, shown.columns))  # rows as columns, as many beside the first as fit a terminal
    for row in shown.rows:
        if groups[-1] and first + sum(max(len(each), width) + 2 for each in [*groups[-1], row]) > TERMINAL_WIDTH:
            groups.append([])
        groups[-1].append(row)
    for methods in groups:
        rows = [
            [column, *(beside([(cell := shown.rows[row][place])], cell.paper) for row in methods)]
            for place, column in enumerate(shown.columns)
        ]
        if shown.averages:
            rows.append(["average", *(beside(shown.rows[row], shown.averages[row]) for row in methods)])
        show_table(title, ["", *methods], rows, numbers=True)
    echo(shown.about)
    if seeds > 1:
        echo("± is the standard deviation over seeds. * differs from the paper by more than chance (t-test, 5 %).")
    if differ:
        echo(f"† was trained with other settings than the cell: {listed(sorted(differ), 6)}.")


def _cells(shown: "PaperTable") -> list["Cell"]:
    return [cell for row in shown.rows.values() for cell in row if cell.method]


def _kinds(shown: "PaperTable") -> list[str]:
    """The kinds of runs that make a table, in words."""
    from reweigh.recipes.read import check, read

    found = {}
    for recipe, *changes in dict.fromkeys(
        (cell.recipe, *(change for change in cell.changes if change.startswith(KINDS))) for cell in _cells(shown)
    ):
        plan = check(read(recipe, changes))
        assert plan.model is not None
        found[f"{recipe} ({plan.train['epochs']} epochs, {plan.model.name})"] = True
    return list(found)


def _commands(shown: "PaperTable", runs: Path, seeds: int) -> list[str]:
    """The command of each run; methods that begin with plain training branch from the run of that, if there is one."""
    from reweigh.methods import BEGIN_AS_ERM
    from reweigh.recipes.published import path_of
    from reweigh.recipes.read import check, read

    stems = {(cell.recipe, cell.column, _stem(cell)): cell for cell in _cells(shown) if cell.method == "erm"}
    found = []
    for seed in range(seeds):
        for cell in _cells(shown):
            words = [*cell.changes, f"method.name={cell.method}", *([f"train.seed={seed}"] if seed else [])]
            stem = stems.get((cell.recipe, cell.column, _stem(cell)))
            if stem is not None and cell.method in BEGIN_AS_ERM:
                plan = check(read(cell.recipe, [*cell.changes, f"method.name={cell.method}"]))
                if plan.train["warmup_epochs"] == 0 or plan.meta_set.options.get("memory"):
                    stem = None  # its beginning is not that of plain training
            if stem is not None and cell.method in BEGIN_AS_ERM:
                words += ["--branch", str(path_of(shown, stem, runs, seed))]
            words += ["--out", str(path_of(shown, cell, runs, seed))]
            found.append(" ".join(["reweigh train", cell.recipe, *map(shlex.quote, words)]))
    return list(dict.fromkeys(found))


def _stem(cell: "Cell") -> tuple[str, ...]:
    """The changes of a cell that matter during the warm-up."""
    return tuple(change for change in cell.changes if not change.startswith(("method.", "meta_set.")))


def _beside(shown: "PaperTable", cells: Sequence["Cell"], paper: float, runs: Path, seeds: int) -> tuple[str, set[str]]:
    """The paper's number and ours, the mean over these cells, once each has a run; and settings that differ."""
    from reweigh.recipes.published import more_than_chance, ours

    found = [ours(shown, cell, runs, seeds) for cell in cells]
    one = cells[0] if len(cells) == 1 else None
    text = "-" if isnan(paper) else f"{paper:g}"
    if one is not None and seeds > 1 and not isnan(one.spread):
        text += f" ± {one.spread:g}"
    if not all(each.values for each in found):
        return text, set()
    mean = sum(each.mean for each in found) / len(found)
    text += f" / {'-' if isnan(mean) else f'{mean:.1f}'}"
    if one is not None and not isnan(found[0].spread):
        text += f" ± {found[0].spread:.1f}{' *' if more_than_chance(one, found[0]) else ''}"
    done = min(len(each.values) for each in found)
    text += f" ({done} of {seeds})" if done < seeds else ""
    differ = {key for each in found for key in each.differ}
    return text + (" †" if differ else ""), differ
