"""``reweigh list``: everything to choose from, read from the tables themselves; and the runs in a folder."""

import inspect
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reweigh.cli.arguments import table_names
from reweigh.errors import RecipeError
from reweigh.names import suggestion
from reweigh.plan.tables import members

if TYPE_CHECKING:
    from collections.abc import Callable


def what_to_list(incomplete: str) -> list[str]:
    """What a shell completes."""
    return [*table_names(incomplete), *(name for name in ("runs",) if name.startswith(incomplete))]


def list_members(
    what: Annotated[
        str | None, typer.Argument(help="Table to list, or runs. Default: every table.", autocompletion=what_to_list)
    ] = None,
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where to look for runs.")] = Path("runs"),
) -> None:
    """List methods, engines, recipes and everything else to choose from.

    Shows a description of each, and its options with their defaults. "runs" lists the runs below a folder: which are
    running, finished, interrupted or damaged.
    """
    from reweigh.cli.printing import show_table

    if what == "runs":
        from reweigh.cli.runs import show_runs

        show_runs(folder)
        return
    names = table_names("")
    if what is not None and what not in names:
        raise RecipeError(
            f"no table {what!r}; there are: {', '.join(names)}; and runs.{suggestion(what, [*names, 'runs'])}"
        )
    for name in names if what is None else [what]:
        if name == "recipes":
            show_table(name, ["name", "what it is"], _recipes())
        else:
            rows = [_member(key, part) for key, part in members(name).items()]
            show_table(name, ["name", "what it is", "options"], rows)


def _recipes() -> list[list[str]]:
    from reweigh.recipes.shipped import about, shipped

    return [[name, about(path)] for name, path in shipped().items()]


def _member(name: str, part: "Callable[..., Any]") -> list[str]:
    return [name, first_sentence(part), ", ".join(_options(part))]


def first_sentence(part: object) -> str:
    """The first paragraph of a member's docstring, on one line."""
    return " ".join((inspect.getdoc(part) or "").partition("\n\n")[0].split())


def _options(part: "Callable[..., Any]") -> list[str]:
    from reweigh.plan.options import parameters_of

    return [p.name if p.default is p.empty else f"{p.name}={_value(p.default)}" for p in parameters_of(part)]


def _value(default: Any) -> str:
    return "none" if default is None else json.dumps(default, default=str)
