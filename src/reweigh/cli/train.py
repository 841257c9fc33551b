"""``reweigh train``: carry out one recipe, or continue an interrupted run."""

from pathlib import Path
from typing import Annotated

import typer

from reweigh.cli.complete import recipe_names
from reweigh.errors import RecipeError


def train(
    recipe: Annotated[
        str | None,
        typer.Argument(
            metavar="RECIPE",
            help="A file, a run, or a shipped recipe; the demo's if left away.",
            autocompletion=recipe_names,
        ),
    ] = None,
    overrides: Annotated[
        list[str] | None, typer.Argument(metavar="KEY=VALUE", help="Changes, such as optimizer.lr=0.05.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="The run folder; runs/RECIPE-METHOD-seedSEED if not given.")] = None,
    resume: Annotated[Path | None, typer.Option(metavar="RUN", help="Continue the run in this folder.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the run that is in the folder.")] = False,
) -> None:
    """Train by a recipe.

    Shows what came of it, what was learned about the samples, and where everything is.
    """
    if resume and (recipe or out or overwrite):
        raise RecipeError("--resume continues a run as it was begun; give no recipe, change, --out or --overwrite too")
    changes = overrides or []
    if recipe is None or ("=" in recipe and not Path(recipe).exists()):  # a change without a recipe
        recipe, changes = "demo", [recipe, *changes] if recipe else changes

    from reweigh.cli.outcome import show_outcome
    from reweigh.recipes.check import check
    from reweigh.recipes.perform import begin
    from reweigh.recipes.perform import resume as continue_run
    from reweigh.recipes.read import read, title
    from reweigh.training import progress

    if resume:
        outcome = continue_run(resume, progress())
    else:
        checked = check(read(recipe, changes))
        label = f"{title(recipe)}-{checked.method.name}-seed{checked.train['seed']}"
        outcome = begin(checked, out or Path("runs", label), progress(), overwrite)
    show_outcome(outcome)
