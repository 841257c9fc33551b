"""``reweigh transfer``: train with a weighting function that was learned in another run and is kept fixed."""

from pathlib import Path
from typing import Annotated

import typer

from reweigh.cli.arguments import Changes, Data, Label, Labels, Overwrite, TrustCode
from reweigh.cli.printing import echo
from reweigh.cli.train import carry_out, contents_of, separated
from reweigh.errors import DataError, RecipeError


def transfer(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Run that learned the weighting function.")],
    recipe: Annotated[
        str | None, typer.Argument(metavar="RECIPE", help="What to train: a file, a run, or a shipped recipe.")
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

    from reweigh.fit.run_folder import not_ended, open_run
    from reweigh.weighting import load_weighting

    there, learned = open_run(run)
    if not there.weighting.is_file() and not there.model.is_file():
        raise not_ended(there, there.weighting)
    if not there.weighting.is_file():
        raise DataError(
            f"{run}: no weighting function; its method, {learned.method.name}, does not learn one. "
            "Give a run of cmw-net or cmw-net-sl"
        )
    _, origin = load_weighting(there.weighting)
    method = [] if origin.reads == "loss" else [f"method.name={learned.method.name}"]  # no other reads anything else
    changes = [*method, *changes, f"method.weighting={there.weighting.resolve()}"]
    name, contents = contents_of(recipe, changes, data, label, labels)
    echo(f"Weighting function: learned on {origin.learned_on or 'unknown data'}, in {run}; it is kept fixed.\n")
    carry_out(contents, f"{name}-from-{run.resolve().name}", out, overwrite, trust_code)
