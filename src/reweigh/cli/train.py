"""``reweigh train``: carry out one recipe, train on data of one's own, or continue an interrupted run."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from reweigh.cli.complete import recipe_names
from reweigh.errors import RecipeError

if TYPE_CHECKING:
    from reweigh.recipes.read import Contents

Changes = Annotated[list[str] | None, typer.Argument(metavar="KEY=VALUE", help="Changes, such as optimizer.lr=0.05.")]
Data = Annotated[str | None, typer.Option(metavar="DATA", help="Your images, table or arrays, or a dataset's name.")]
Label = Annotated[str | None, typer.Option(metavar="COLUMN", help="The column or array of labels in DATA.")]
Labels = Annotated[Path | None, typer.Option(metavar="FILE", help="A label file in place of the labels in DATA.")]
Candidates = Annotated[
    bool, typer.Option("--candidates", help="A label may name several, one of them right, as cat|dog.")
]
TrustCode = Annotated[
    bool, typer.Option("--trust-code", help="Allow a model that the recipe names outside reweigh: this runs its code.")
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace the run that is in the folder.")]


def train(
    recipe: Annotated[
        str | None,
        typer.Argument(
            metavar="RECIPE",
            help="A file, a run, or a shipped recipe; without it the demo's, or for --data one chosen by the data.",
            autocompletion=recipe_names,
        ),
    ] = None,
    overrides: Changes = None,
    data: Data = None,
    label: Label = None,
    labels: Labels = None,
    candidates: Candidates = False,
    out: Annotated[Path | None, typer.Option(help="The run folder; runs/NAME-METHOD-seedSEED if not given.")] = None,
    resume: Annotated[Path | None, typer.Option(metavar="RUN", help="Continue the run in this folder.")] = None,
    overwrite: Overwrite = False,
    trust_code: TrustCode = False,
) -> None:
    """Train by a recipe, or on data of your own.

    Shows what came of it, what was learned about the samples, and where everything is.
    """
    if resume and (recipe or data or label or labels or candidates or out or overwrite):
        raise RecipeError(
            "--resume continues a run as it was begun; give no recipe, change, data, --out or --overwrite too"
        )
    if resume:
        from reweigh.cli.outcome import show_outcome
        from reweigh.fit.run_folder import resume as continue_run
        from reweigh.training import progress

        show_outcome(continue_run(resume, progress(), trust_code=trust_code))
        return
    recipe, changes = separated(recipe, overrides or [])
    if recipe is None and data is None:
        recipe = "demo"
    name, contents = contents_of(recipe, changes, data, label, labels, candidates)
    carry_out(contents, name, out, overwrite, trust_code)


def separated(recipe: str | None, changes: Sequence[str]) -> tuple[str | None, list[str]]:
    """The recipe and the changes; what stands first may be a change already."""
    if recipe is not None and "=" in recipe and not Path(recipe).exists():
        return None, [recipe, *changes]
    return recipe, list(changes)


def contents_of(
    recipe: str | None,
    changes: Sequence[str],
    data: str | None,
    label: str | None,
    labels: Path | None,
    candidates: bool = False,
) -> "tuple[str, Contents]":
    """What to call the run, and the recipe as written: of the data, or as it stands.

    Raises:
        RecipeError: there is no such recipe, or labels are named and no data.
    """
    if data is not None:
        from reweigh.cli.own_data import OwnData, recipe_for

        own = OwnData(data, label, labels, candidates)
        return own.title, recipe_for(own, recipe, changes)
    if label is not None or labels is not None or candidates:
        raise RecipeError(
            "--label, --labels and --candidates belong to --data; give that too, or change the recipe: data.labels=FILE"
        )
    from reweigh.recipes.read import read, title

    assert recipe is not None
    return title(recipe), read(recipe, changes)


def carry_out(contents: "Contents", name: str, out: Path | None, overwrite: bool, trust_code: bool = False) -> None:
    """Check the recipe, train in a new run folder, and show what came of it."""
    from reweigh.cli.issues import originals_of
    from reweigh.cli.outcome import show_outcome
    from reweigh.cli.target import check_outside
    from reweigh.fit.run_folder import begin
    from reweigh.recipes.check import check
    from reweigh.training import progress

    checked = check(contents)
    folder = out or Path("runs", f"{name}-{checked.method.name}-seed{checked.train['seed']}")
    check_outside("--out", folder, originals_of(checked.source.options, checked.source.added["root"]))
    show_outcome(begin(checked, folder, progress(), overwrite, trust_code))
