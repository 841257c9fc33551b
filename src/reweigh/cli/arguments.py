"""Arguments that several commands share, shell completion, and where a command may write; nothing heavy is imported."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from reweigh.errors import DataError
from reweigh.plan.plan import TABLES


def recipe_names(incomplete: str) -> list[str]:
    from reweigh.recipes.read import shipped

    return [name for name in shipped() if name.startswith(incomplete)]


def table_names(incomplete: str) -> list[str]:
    return [name for name in (*TABLES, "recipes") if name.startswith(incomplete)]


Changes = Annotated[
    list[str] | None, typer.Argument(metavar="KEY=VALUE", help="Settings to change, such as optimizer.lr=0.05.")
]


def latest_run() -> Path:
    """The run in the folder ``runs`` that was begun last."""
    from reweigh.cli.printing import echo

    recipes = sorted(Path("runs").glob("*/recipe.toml"), key=lambda file: file.stat().st_mtime_ns)
    if not recipes:
        raise DataError("RUN: give the folder of a run; there is none in the folder runs here. reweigh train makes one")
    echo(f"{recipes[-1].parent}, the latest run:", err=True)
    return recipes[-1].parent


RunFolder = Annotated[
    Path,
    typer.Argument(
        metavar="[RUN]",
        help="Folder of a run. Default: the latest in the folder runs.",
        default_factory=latest_run,
        show_default=False,
    ),
]
AnyData = Annotated[str, typer.Argument(metavar="DATA", help="A path, or the name of a dataset.")]
Data = Annotated[
    str | None, typer.Option(metavar="DATA", help="Your images, table or arrays, or the name of a dataset.")
]
Label = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Column or array of DATA that holds the labels; several, such as ann,bob,model, are several labelers.",
    ),
]
Votes = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Labels by several labelers: a table with the columns sample, labeler and label, or an export of Label "
        "Studio, Argilla or Prodigy.",
    ),
]
Labels = Annotated[Path | None, typer.Option(metavar="FILE", help="Label file to use instead of the labels in DATA.")]
Sep = Annotated[
    str | None, typer.Option(metavar="CHARACTER", help="Separator of a table, such as ';' or tab. Default: detected.")
]
Encoding = Annotated[
    str | None, typer.Option(metavar="NAME", help="Encoding of a table, such as latin-1. Default: detected.")
]
Drop = Annotated[list[str] | None, typer.Option(metavar="COLUMN", help="Column of a table to leave out; repeatable.")]
JoinLabels = Annotated[
    bool, typer.Option("--join-labels", help="Count labels such as 'gold', 'Gold', 'gold.' and 'golt' as one class.")
]
Group = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Column that says which samples belong together, such as patients or videos; no split parts them.",
    ),
]
ClassShares = Annotated[
    str | None,
    typer.Option(
        metavar="SHARES",
        help="Class shares of the new data: estimated, given, uniform, or such as 'cat=0.9,dog=0.1'. Default: as in "
        "training.",
    ),
]
Root = Annotated[Path | None, typer.Option(help="Folder of the datasets. Default: $REWEIGH_DATA, or data.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace existing files.")]
SpreadsheetSafe = Annotated[
    bool, typer.Option("--spreadsheet-safe", help="Escape cells that a spreadsheet would run as formulas.")
]
TrustCode = Annotated[
    bool, typer.Option("--trust-code", help="Allow the recipe to use a model from outside reweigh; this runs its code.")
]


def written(
    sep: str | None,
    encoding: str | None,
    drop: Sequence[str] | None,
    join_labels: bool,
    group: str | None,
    votes: Path | None = None,
) -> dict[str, Any]:
    """How to read the files of the data, as options of section [data]; only those that the user gives."""
    columns = dict.fromkeys(drop, "drop") if drop else None
    options = {"sep": sep, "encoding": encoding, "columns": columns, "group": group}
    options["votes"] = None if votes is None else str(votes.resolve())
    return {key: value for key, value in options.items() if value} | ({"join_labels": True} if join_labels else {})


# how a user of the command line gives an argument that an error asks for
OPTIONS = {
    "columns": "--drop COLUMN, or data.columns in a recipe",
    "label": "--label COLUMN, or data.label in a recipe",
    "labels": "--labels FILE, or data.labels in a recipe",
}


def check_target(option: str, out: Path, targets: Sequence[Path], used: Sequence[Path], overwrite: bool) -> None:
    """Refuse to write over existing files, or into the data.

    Args:
        used: The data; never written into, not even with ``overwrite``.
    """
    if not out.absolute().parent.is_dir():
        raise DataError(f"{option} {out}: there is no folder {out.parent}; create it first, or choose another")
    for target in targets:
        check_outside(option, target, used)
    if folders := [str(target) for target in targets if target.is_dir()]:
        raise DataError(f"{option} {', '.join(folders)}: is a folder; give the name of a file")
    taken = [str(target) for target in targets if target.exists()]
    if taken and not overwrite:
        raise DataError(f"{', '.join(taken)}: already exists; replace it with --overwrite, or choose another {option}")


def check_outside(option: str, target: Path, used: Sequence[Path]) -> None:
    """Refuse to write into the data."""
    for path in used:
        if path.exists() and target.resolve().is_relative_to(path.resolve()):
            raise DataError(f"{option} {target}: would write into the data, {path}; choose a path outside")


def check_ending(option: str, out: Path, endings: Sequence[str], what: str) -> None:
    if out.suffix not in endings:
        allowed = " or ".join(endings)
        raise DataError(f"{option} {out}: {what} ends in {allowed}; got {out.suffix or 'no ending'!r}")
