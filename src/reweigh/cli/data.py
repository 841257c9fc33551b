"""``reweigh data``: what reweigh keeps on this disk: downloaded datasets, cached features."""

from typing import Annotated

import typer

from reweigh.cli.arguments import Root
from reweigh.cli.printing import echo, show_table
from reweigh.errors import DataError
from reweigh.names import suggestion

data = typer.Typer(
    help="Download named datasets, and manage cached features.", no_args_is_help=True, rich_markup_mode=None
)


@data.command()
def get(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the dataset, such as fashion-mnist.")],
    root: Root = None,
    mirror: Annotated[str | None, typer.Option(metavar="URL", help="Address to download from instead.")] = None,
) -> None:
    """Download the official files of a dataset.

    Existing files are kept, interrupted downloads are continued, and files with a wrong checksum are removed.
    """
    from reweigh.data.named.official import get as download
    from reweigh.fit.source import data_root
    from reweigh.training import progress

    observer = progress()

    def show(file: str, done: int, total: int | None) -> None:
        if total is not None:
            observer.count(f"kB of {file}", done // 1000, total // 1000)

    try:
        folder = download(name, data_root(root), mirror=mirror, progress=show)
    finally:
        observer.stop()
    files = [path for path in folder.iterdir() if path.is_file()]
    size = sum(path.stat().st_size for path in files) / 1e6
    echo(f"{name}: {len(files)} files, {size:.1f} MB, in {folder}")
    echo(f"Next: reweigh inspect {name}" + (f" --root {root}" if root else ""))


@data.command()
def cache(
    clear: Annotated[list[str] | None, typer.Option(metavar="NAME", help="Cache to delete; repeatable.")] = None,
    clear_all: Annotated[bool, typer.Option("--clear-all", help="Delete all caches.")] = False,
) -> None:
    """Show the features that are stored on disk, or delete them.

    They are computed again when a run needs them. Set the environment variable REWEIGH_CACHE to use another folder.
    """
    from reweigh.files import row_cache

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
