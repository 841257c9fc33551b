"""``reweigh show``: the resolved recipe, every default spelled out."""

from typing import Annotated

import typer

from reweigh.cli.complete import recipe_names


def show(
    recipe: Annotated[
        str, typer.Argument(metavar="RECIPE", help="A file, a run, or a shipped recipe.", autocompletion=recipe_names)
    ],
    overrides: Annotated[
        list[str] | None, typer.Argument(metavar="KEY=VALUE", help="Changes, such as optimizer.lr=0.05.")
    ] = None,
) -> None:
    """Check a recipe and print it in full.

    Every default is spelled out; written to a file, it trains the same.
    """
    from reweigh.plan.toml import to_toml
    from reweigh.recipes.check import check
    from reweigh.recipes.read import read

    typer.echo(to_toml(check(read(recipe, overrides or []))), nl=False)
