"""``reweigh compare``: several methods by one recipe, over several seeds, side by side."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from reweigh.cli.complete import recipe_names
from reweigh.errors import DataError, RecipeError

if TYPE_CHECKING:
    from reweigh.recipes.perform import Outcome
    from reweigh.recipes.recipe import Recipe


def compare(
    recipe: Annotated[
        str, typer.Argument(metavar="RECIPE", help="A file, a run, or a shipped recipe.", autocompletion=recipe_names)
    ],
    overrides: Annotated[
        list[str] | None, typer.Argument(metavar="KEY=VALUE", help="Changes, such as optimizer.lr=0.05.")
    ] = None,
    methods: Annotated[
        str | None, typer.Option(help="Names with commas between; the recipe's own method if not given.")
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="How many, counted from the recipe's seed.")] = 3,
    json: Annotated[Path | None, typer.Option(help="Write the numbers of every run there too.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder of the runs; runs/RECIPE if not given.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue where an earlier call ended.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the runs that are there.")] = False,
) -> None:
    """Train several methods and set them side by side.

    A table shows mean and spread over the seeds, for the last epoch and for the best one.

    Each method keeps of the recipe's [method] the options that it has too; a section [compare.METHOD] gives
    it its own.
    """
    if resume and overwrite:
        raise RecipeError("--resume keeps the runs that are there, --overwrite replaces them; give one of the two")
    if json and not json.absolute().parent.is_dir():
        raise RecipeError(f"--json {json}: there is no folder {json.parent}; make it first, or choose another")

    from reweigh.cli.comparison import show_comparison, to_json
    from reweigh.files import write_whole
    from reweigh.recipes.perform import begin
    from reweigh.recipes.perform import resume as continue_run
    from reweigh.recipes.read import title
    from reweigh.training import progress

    planned = plan(recipe, overrides or [], methods, seeds)
    folder = out or Path("runs", title(recipe))
    paths = {key: folder / f"{key[0]}-seed{key[1]}" for key in planned}
    taken = [str(path) for path in paths.values() if path.exists()]
    if taken and not (resume or overwrite):
        remedies = "continue with --resume, replace with --overwrite, or choose another --out"
        raise DataError(f"{', '.join(taken)}: there already; {remedies}")
    outcomes: dict[str, list[Outcome]] = {}
    try:
        for (method, seed), chosen in planned.items():
            path, observer = paths[method, seed], progress(label=f"{method}, seed {seed}")
            if resume and path.exists():
                outcome = continue_run(path, observer, expected=chosen)
            else:
                outcome = begin(chosen, path, observer, overwrite)
            outcomes.setdefault(method, []).append(outcome)
    except KeyboardInterrupt as stop:
        raise KeyboardInterrupt(f"{stop}\nor continue all: the same command with --resume") from stop
    if json:
        write_whole(json, to_json(recipe, outcomes))
    show_comparison(outcomes, folder)


def plan(source: str, overrides: list[str], methods: str | None, seeds: int) -> "dict[tuple[str, int], Recipe]":
    """Every run to make, by method and seed; all are checked before the first begins.

    Raises:
        RecipeError: with what is wrong for any of the methods.
    """
    from dataclasses import replace

    from reweigh.recipes.check import check
    from reweigh.recipes.read import read
    from reweigh.recipes.variants import for_method

    contents = read(source, overrides)
    own = check(contents)
    names = [name.strip() for name in methods.split(",")] if methods is not None else [own.method.name]
    planned, mistakes = {}, []
    for name in dict.fromkeys(names):
        try:
            recipe = check(for_method(contents, name))
        except RecipeError as error:
            mistakes.append(str(error))
            continue
        for seed in range(recipe.train["seed"], recipe.train["seed"] + seeds):
            planned[name, seed] = replace(recipe, train={**recipe.train, "seed": seed})
    if mistakes:
        raise RecipeError("\n".join(mistakes))
    return planned
