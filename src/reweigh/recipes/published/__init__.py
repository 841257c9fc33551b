"""The paper's tables: which recipe makes which cell, and the number that the paper has there."""

import tomllib
from itertools import product
from pathlib import Path
from typing import NamedTuple

from reweigh.errors import RecipeError
from reweigh.names import suggestion


class Cell(NamedTuple):
    """One number of a table.

    Attributes:
        column: name of the column.
        method: our name of the method; empty if it is not here.
        recipe: name of a shipped recipe.
        changes: ``key=value`` for the recipe, which make it this cell.
        paper: the number that the paper has; NaN if none.
    """

    column: str
    method: str
    recipe: str
    changes: tuple[str, ...]
    paper: float


class PaperTable(NamedTuple):
    """A table of the paper.

    Attributes:
        name: its number, or a word for those of the supplement.
        title: what is compared.
        measure: "accuracy" or "error", in percent.
        epoch: which numbers of a run the paper reports: "last", or "last-ten", the mean of the last ten epochs.
        about: what differs from the paper.
        columns: names of the columns.
        rows: name of each row -> its cells, in the order of the columns.
    """

    name: str
    title: str
    measure: str
    epoch: str
    about: str
    columns: tuple[str, ...]
    rows: dict[str, tuple[Cell, ...]]


def names() -> list[str]:
    """Tables 1 to 10, then those of the supplement."""
    found = [path.stem for path in Path(__file__).parent.glob("*.toml")]
    return sorted(found, key=lambda name: (not name.isdigit(), int(name) if name.isdigit() else 0, name))


def table(name: str) -> PaperTable:
    """One of the tables.

    Raises:
        RecipeError: there is none of that name.
    """
    if name not in names():
        raise RecipeError(f"no table {name!r}; there are: {', '.join(names())}.{suggestion(name, names())}")
    text = tomllib.loads((Path(__file__).parent / f"{name}.toml").read_text(encoding="utf-8"))
    columns = [
        (", ".join(value["name"] for value in values), tuple(change for value in values for change in value["set"]))
        for values in product(*(axis["values"] for axis in text["axis"]))
    ]
    rows = {}
    for row in text["row"]:
        own, method = tuple(row.get("set", [])), row.get("method", "")
        rows[row["name"]] = tuple(
            Cell(column, method, row.get("recipe", text["recipe"]), (*changes, *own), paper)
            for (column, changes), paper in zip(columns, row["paper"], strict=True)
        )
    kept = (text["title"], text["measure"], text["epoch"], text.get("about", ""))
    return PaperTable(name, *kept, tuple(column for column, _ in columns), rows)
