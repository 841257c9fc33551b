"""``reweigh transfer``: train with a weighting function that was learned elsewhere and is kept fixed."""

from pathlib import Path
from typing import Annotated

import typer

from reweigh.cli.arguments import Changes, Data, Label, Labels, Overwrite, TrustCode
from reweigh.cli.printing import echo
from reweigh.cli.train import carry_out, contents_of, separated
from reweigh.errors import DataError, RecipeError


def transfer(
    source: Annotated[
        str,
        typer.Argument(
            metavar="RUN|FILE",
            help="Run that learned the weighting function, or its file. To the file that the paper's authors released, "
            "add the order of its heads: vnet.pth:large,small,medium.",
        ),
    ],
    recipe: Annotated[
        str | None,
        typer.Argument(metavar="RECIPE", help="What to train: a recipe file, a run, or the name of a shipped recipe."),
    ] = None,
    overrides: Changes = None,
    data: Data = None,
    label: Label = None,
    labels: Labels = None,
    out: Annotated[Path | None, typer.Option(help="Run folder. Default: runs/NAME-from-RUN-METHOD-seedSEED.")] = None,
    overwrite: Overwrite = False,
    trust_code: TrustCode = False,
) -> None:
    """Train with the weighting function of another run.

    The function is kept fixed, so this costs little more than plain training.
    """
    recipe, changes = separated(recipe, overrides or [])
    if recipe is None and data is None:
        raise RecipeError("nothing to train on; give RECIPE or --data after the run")

    from reweigh.weighting import load_weighting, named_release

    released = named_release(source)
    if released or Path(source).is_file():
        path, *order = [released[0], ",".join(released[1])] if released else [source]
        file = ":".join([str(Path(path).resolve()), *order])
        called = Path(path).stem
    else:
        file, called = _learned_in(Path(source)), Path(source).resolve().name
    _, origin = load_weighting(file)
    chosen = "two-looks" if origin.reads == "doubt" else "cmw-net" if recipe is None else None  # a recipe has its own
    method = [f"method.name={chosen}"] if chosen else []
    name, contents = contents_of(recipe, [*method, *changes, f"method.weighting={file}"], data, label, labels)
    echo(f"Weighting function: learned on {origin.learned_on or 'unknown data'}, in {source}; it is kept fixed.\n")
    carry_out(contents, f"{name}-from-{called}", out, overwrite, trust_code)


def _learned_in(folder: Path) -> str:
    """The file of the weighting function that a run has learned."""
    from reweigh.fit.run_folder import not_ended, open_run

    run, plan = open_run(folder)
    if not run.weighting.is_file() and not run.model.is_file():
        raise not_ended(run, run.weighting)
    if not run.weighting.is_file():
        raise DataError(
            f"{folder}: no weighting function; its method, {plan.method.name}, does not learn one. "
            "Give a run of two-looks, cmw-net or cmw-net-sl"
        )
    return str(run.weighting.resolve())
