"""``reweigh list``: everything to choose from."""

import inspect
import json
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reweigh.cli.arguments import Changes, table_names
from reweigh.cli.printing import echo, show_table
from reweigh.errors import DataError, RecipeError, ReweighError
from reweigh.names import plural, suggestion
from reweigh.plan.plan import member, members

if TYPE_CHECKING:
    from collections.abc import Callable


def what_to_list(incomplete: str) -> list[str]:
    """What a shell completes."""
    return [*table_names(incomplete), *(name for name in ("runs",) if name.startswith(incomplete))]


def list_members(
    what: Annotated[
        str | None, typer.Argument(help="Table to list, or runs. Default: every table.", autocompletion=what_to_list)
    ] = None,
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME|PATH", help="One of them; a recipe may be a file or a run; for runs, their folder."
        ),
    ] = None,
    overrides: Changes = None,
) -> None:
    """List methods, models, recipes, runs and more.

    Shows a description of each, and its options with their defaults. "runs" lists the runs in a folder and whether they
    are running, finished, interrupted or damaged.

    A recipe is checked and printed in full, with its opening comment and every default. Saved to a file, the output
    trains the same model.

    \b
      reweigh list methods
      reweigh list recipes demo train.seed=1
      reweigh list runs runs/
    """
    if overrides and what != "recipes":
        raise RecipeError(f"KEY=VALUE changes a recipe, but got {overrides[0]!r} for {what}; leave it out")
    if what == "runs":
        show_runs(Path(name or "runs"))
        return
    if what == "recipes" and name is not None:
        from reweigh.plan.edit import to_toml
        from reweigh.recipes.read import check, comment, find, read

        checked = check(read(name, overrides or []))
        echo(f"{comment(find(name))}\n\n{to_toml(checked)}".strip("\n"))
        return
    names = table_names("")
    if what is not None and what not in names:
        raise RecipeError(
            f"no table {what!r}; there are: {', '.join(names)}; and runs.{suggestion(what, [*names, 'runs'])}"
        )
    for table in names if what is None else [what]:
        if table == "recipes":
            from reweigh.recipes.read import about, shipped

            show_table(table, ["name", "what it is"], [[key, about(path)] for key, path in shipped().items()])
        else:
            chosen = members(table) if name is None else {name: member(table, name)}
            show_table(table, ["name", "what it is", "options"], [row_of(key, part) for key, part in chosen.items()])


def row_of(name: str, part: "Callable[..., Any]") -> list[str]:
    """Name, description and options of a member."""
    from reweigh.plan.plan import parameters_of

    options = [p.name if p.default is p.empty else f"{p.name}={_value(p.default)}" for p in parameters_of(part)]
    about = (inspect.getdoc(part) or "").partition("\n\n")[0]
    return [name, " ".join(about.split()), ", ".join(options)]


def _value(default: Any) -> str:
    return "none" if default is None else json.dumps(default, default=str)


def show_runs(folder: Path) -> None:
    """Print the runs below a folder, and what is wrong with the damaged ones."""
    from reweigh.fit.run_folder import open_run
    from reweigh.training import Run
    from reweigh.training.run import STATES, damage, status

    if not folder.is_dir():
        raise DataError(f"{folder}: there is no such folder; give the folder that your runs are in")
    rows, wrong = [], []
    for recipe in sorted(folder.rglob("recipe.toml")):
        run = Run(recipe.parent)
        found = damage(run)
        wrong += found
        state = "damaged" if found else status(run)
        method, epochs = "-", "-"  # of a recipe that cannot be read
        with suppress(ReweighError, OSError):
            plan = open_run(run.path)[1]
            method, epochs = plan.method.name, f"{len(run.read_metrics())}/{plan.train['epochs']}"
        rows.append([str(run.path), method, epochs, state, STATES[state]])
    if not rows:
        echo(f"{folder}: no runs")
        return
    show_table(f"{plural(len(rows), 'run')} in {folder}", ["run", "method", "epochs", "status", "meaning"], rows)
    for line in wrong:
        echo(line)
