"""``reweigh data``: get the files of the datasets that are known by name."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from reweigh.data.named.download import Progress

data = typer.Typer(help="Get the datasets that are known by name.", no_args_is_help=True, rich_markup_mode=None)


@data.callback()
def about() -> None:
    """Get the datasets that are known by name."""


@data.command()
def get(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Of the dataset, such as fashion-mnist.")],
    root: Annotated[Path | None, typer.Option(help="The data root; $REWEIGH_DATA or data if not given.")] = None,
    mirror: Annotated[str | None, typer.Option(metavar="URL", help="Get the files from there instead.")] = None,
) -> None:
    """Download the official files of a dataset.

    What is there already stays; what broke off is continued; what has a wrong checksum is not kept.
    """
    from reweigh.data.named.download import get as download
    from reweigh.fit.source import data_root

    place = data_root(root)
    with watch() as progress:
        folder = download(name, place, mirror=mirror, progress=progress)
    files = [path for path in folder.iterdir() if path.is_file()]
    size = sum(path.stat().st_size for path in files) / 1e6
    typer.echo(f"{name}: {len(files)} files, {size:.1f} MB, in {folder}")
    typer.echo(f"Next: reweigh inspect {name}" + (f" --root {root}" if root else ""))


@contextmanager
def watch() -> "Iterator[Progress]":
    """A bar a file on a terminal; elsewhere a line when a file begins and one when it is whole."""
    from rich.console import Console

    console = Console(file=sys.stderr)
    if not console.is_terminal or console.is_dumb_terminal:
        yield tell
        return
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn, TransferSpeedColumn
    from rich.progress import Progress as Bars

    columns = (BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Bars(TextColumn("{task.description}", markup=False), *columns, console=console) as bars:
        tasks = {}

        def show(file: str, done: int, total: int | None) -> None:
            if file not in tasks:
                tasks[file] = bars.add_task(file, total=total)
            bars.update(tasks[file], completed=done)

        yield show


def tell(file: str, done: int, total: int | None) -> None:
    """Write a line at each tenth of a file, and at its end."""
    from reweigh.data.named.download import CHUNK

    if total is None:
        return
    before = max(0, done - CHUNK)
    if done == total or (total > 10 * CHUNK and done * 10 // total > before * 10 // total):
        typer.echo(f"{file}: {done / 1e6:.1f} of {total / 1e6:.1f} MB", err=True)
