"""``reweigh data``: download the named datasets; show and clear the features on disk."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from reweigh.cli.arguments import Root
from reweigh.cli.printing import echo

if TYPE_CHECKING:
    from reweigh.data.named.download import Progress

data = typer.Typer(
    help="Download named datasets, and look after cached features.", no_args_is_help=True, rich_markup_mode=None
)


@data.callback()
def about() -> None:
    """Download named datasets, and look after cached features."""


@data.command()
def get(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the dataset, such as fashion-mnist.")],
    root: Root = None,
    mirror: Annotated[str | None, typer.Option(metavar="URL", help="Download the files from there instead.")] = None,
) -> None:
    """Download the official files of a dataset.

    Existing files are kept, interrupted downloads are continued, and files with a wrong checksum are removed.
    """
    from reweigh.data.named.download import get as download
    from reweigh.fit.source import data_root

    place = data_root(root)
    with watch() as progress:
        folder = download(name, place, mirror=mirror, progress=progress)
    files = [path for path in folder.iterdir() if path.is_file()]
    size = sum(path.stat().st_size for path in files) / 1e6
    echo(f"{name}: {len(files)} files, {size:.1f} MB, in {folder}")
    echo(f"Next: reweigh inspect {name}" + (f" --root {root}" if root else ""))


@data.command()
def cache(
    clear: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Delete this cache; may be given several times.")
    ] = None,
    clear_all: Annotated[bool, typer.Option("--clear-all", help="Delete all of them.")] = False,
) -> None:
    """Show the features that are stored on disk, or delete them.

    They are computed again when a run needs them. REWEIGH_CACHE names another folder for them.
    """
    from reweigh.cli.printing import show_table
    from reweigh.errors import DataError
    from reweigh.files import row_cache
    from reweigh.names import suggestion

    found = {cache.name: cache for cache in row_cache.usage()}
    wanted = list(found) if clear_all else clear or []
    if unknown := [name for name in wanted if name not in found]:
        there_are = f"there are: {', '.join(found)}." if found else "there is none."
        raise DataError(f"--clear: no cache {unknown[0]!r}; {there_are}{suggestion(unknown[0], found)}")
    row_cache.clear(wanted)
    for name in wanted:
        echo(f"Deleted: {name} ({found[name].rows:,} samples, {row_cache.megabytes(found.pop(name).size)})")
    if not found:
        echo(f"No features are stored in {row_cache.cache_root()}.")
    elif not wanted:
        rows = [[name, f"{cache.rows:,}", row_cache.megabytes(cache.size)] for name, cache in found.items()]
        show_table(f"Features in {row_cache.cache_root()}", ["network", "samples", "size"], rows)
        echo("Delete with: reweigh data cache --clear NAME (or --clear-all)")


@contextmanager
def watch() -> "Iterator[Progress]":
    """One progress bar per file on a terminal; elsewhere lines, see ``print_progress``."""
    from rich.console import Console

    console = Console(file=sys.stderr)
    if not console.is_terminal or console.is_dumb_terminal:
        yield print_progress
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


def print_progress(file: str, done: int, total: int | None) -> None:
    """Print a line at each tenth of a file, and at its end."""
    from reweigh.data.named.download import CHUNK

    if total is None:
        return
    before = max(0, done - CHUNK)
    if done == total or (total > 10 * CHUNK and done * 10 // total > before * 10 // total):
        echo(f"{file}: {done / 1e6:.1f} of {total / 1e6:.1f} MB", err=True)
