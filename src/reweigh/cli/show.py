"""``reweigh show``: the resolved recipe, with every default written out."""

import typer

from reweigh.cli.arguments import Changes, Recipe


def show(recipe: Recipe, overrides: Changes = None) -> None:
    """Check a recipe and print it in full.

    Every default is written out. Saved to a file, the output trains the same model.
    """
    from reweigh.plan.toml import to_toml
    from reweigh.recipes.check import check
    from reweigh.recipes.read import read

    typer.echo(to_toml(check(read(recipe, overrides or []))), nl=False)
