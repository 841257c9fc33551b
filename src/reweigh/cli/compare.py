"""``reweigh compare``: methods, biases and seeds by one recipe, side by side."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from reweigh.cli.complete import recipe_names
from reweigh.cli.train import TrustCode
from reweigh.errors import RecipeError, ReweighError


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
    biases: Annotated[
        str | None,
        typer.Option(
            help="Such as symmetric-0.4,long-tail-50+symmetric-0.3,clean: a bias with its rate or factor, several "
            "joined by +, or none; the recipe's own if not given."
        ),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="How many, counted from the recipe's seed.")] = 3,
    workers: Annotated[int, typer.Option(min=1, help="How many runs at once, which share the processor.")] = 1,
    json: Annotated[Path | None, typer.Option(help="Write the numbers and the recipe of every run there too.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder of the runs; runs/RECIPE if not given.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Make only what an earlier call left to do.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the runs that are there.")] = False,
    trust_code: TrustCode = False,
) -> None:
    """Train several methods under several biases and set them side by side.

    A table for each bias shows mean and spread over the seeds, after the last epoch and after the best one, and what
    each method costs. Methods of one bias and seed see the same wrong labels and start from the same weights. If a run
    fails, the others go on.

    Each method keeps of the recipe's [method] the options that it has too; a section [compare.METHOD] gives it its own.
    A bias keeps the options that the recipe's [data] has for it.
    """
    if resume and overwrite:
        raise RecipeError("--resume keeps the runs that are there, --overwrite replaces them; give one of the two")
    if json and not json.absolute().parent.is_dir():
        raise RecipeError(f"--json {json}: there is no folder {json.parent}; make it first, or choose another")
    if json and json.is_dir():
        raise RecipeError(f"--json {json}: is a folder; give the name of a file")

    from reweigh.cli.comparison import failures, show_comparison
    from reweigh.compare.carry_out import carry_out
    from reweigh.compare.grid import plan
    from reweigh.compare.rows import to_json
    from reweigh.files import write_whole
    from reweigh.recipes.read import title
    from reweigh.training.series import series

    options = {"methods": methods, "biases": biases, "seeds": seeds, "json": json, "out": out}
    options |= {"workers": workers} if workers > 1 else {}
    flags = ["--trust-code"] if trust_code else []
    given = [word for name, value in options.items() if value is not None for word in (f"--{name}", str(value))]
    command = shlex.join(["reweigh", "compare", recipe, *(overrides or []), *given, *flags])
    planned = plan(recipe, overrides or [], names(methods), names(biases), seeds)
    folder = out or Path("runs", title(recipe))
    try:
        rows = carry_out(planned, folder, workers, resume, overwrite, series(), trust_code)
    except KeyboardInterrupt as stop:
        raise KeyboardInterrupt(f"{stop}; continue with:\n{command} --resume") from stop
    show_comparison(rows, folder)
    if json:
        write_whole(json, to_json(rows, command=command))
    if failed := failures(rows):
        raise ReweighError(f"{failed}\ntry them again with:\n{command} --resume")


def names(text: str | None) -> list[str] | None:
    """The names in a list with commas between."""
    return None if text is None else [name.strip() for name in text.split(",")]
