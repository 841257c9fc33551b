"""``reweigh inspect``: what is in a dataset, before anyone trains on it."""

from pathlib import Path
from typing import Annotated

import typer


def inspect(
    data: Annotated[str, typer.Argument(metavar="DATA", help="A path, or the name of a dataset.")],
    label: Annotated[str | None, typer.Option(metavar="COLUMN", help="The column or array of labels.")] = None,
    labels: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A label file in place of the given labels.")
    ] = None,
    root: Annotated[Path | None, typer.Option(help="The data root; $REWEIGH_DATA or data if not given.")] = None,
) -> None:
    """Look at training data before training.

    Class sizes and families, contradicting and broken samples, and the likely trouble in words.
    """
    from reweigh.cli.inspection import show_inspection
    from reweigh.cli.source import find
    from reweigh.data import inspect as look
    from reweigh.plan.mistakes import raise_all

    source, mistakes = find(data, label, labels, root)
    raise_all(mistakes, "reweigh inspect")
    dataset = source.read()
    findings = look(dataset)
    show_inspection(data, dataset, findings)
    typer.echo("Next, train plainly and reweighted; samples.csv of a run tells whom to distrust:")
    typer.echo(f"reweigh compare demo {source.as_changes()} 'data.bias=[]' --methods erm,cmw-net --seeds 1")
