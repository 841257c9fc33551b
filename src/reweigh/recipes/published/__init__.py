"""The paper's tables: which recipe makes which cell, and the number that the paper has there."""

import re
import tomllib
from collections.abc import Iterator
from itertools import product
from math import nan
from pathlib import Path
from typing import Any, NamedTuple

from reweigh.errors import RecipeError
from reweigh.names import suggestion


class Cell(NamedTuple):
    """One number of a table.

    Attributes:
        column: Name of the column.
        method: Our name of the method; empty if it is not here.
        recipe: Name of a shipped recipe.
        changes: ``key=value`` for the recipe, which make it this cell.
        paper: The number that the paper has; NaN if none.
        spread: Its standard deviation over three trials in the paper; NaN if the paper has none.
        metric: The number of a run that stands beside it, as in ``metrics.jsonl``.
        run: Name of the run; cells that differ by the metric share one.
    """

    column: str
    method: str
    recipe: str
    changes: tuple[str, ...]
    paper: float
    spread: float
    metric: str
    run: str


class PaperTable(NamedTuple):
    """A table of the paper.

    Attributes:
        name: Its number, or a word for those of the supplement.
        title: What is compared.
        measure: "accuracy" or "error", in percent.
        epoch: Which numbers of a run the paper reports: "last", or "last-ten", the mean of the last ten epochs.
        samples: Training samples, of one of its cells.
        classes: And classes.
        about: What differs from the paper.
        columns: Names of the columns.
        rows: Name of each row -> its cells, in the order of the columns.
        averages: Name of each row -> the mean over its cells that the paper has; empty if it has none.
    """

    name: str
    title: str
    measure: str
    epoch: str
    samples: int
    classes: int
    about: str
    columns: tuple[str, ...]
    rows: dict[str, tuple[Cell, ...]]
    averages: dict[str, float]


def names() -> list[str]:
    """Tables 1 to 10, then those of the supplement."""
    found = [path.stem for path in Path(__file__).parent.glob("*.toml")]
    return sorted(found, key=lambda name: (not name.isdigit(), int(name) if name.isdigit() else 0, name))


def table(name: str) -> PaperTable:
    """One of the tables; a RecipeError if none has that name."""
    if name not in names():
        raise RecipeError(f"no table {name!r}; there are: {', '.join(names())}.{suggestion(name, names())}")
    text = tomllib.loads((Path(__file__).parent / f"{name}.toml").read_text(encoding="utf-8"))
    columns = list(product(*(axis["values"] for axis in text["axis"])))
    heads = [", ".join(value["name"] for value in column) for column in columns]
    rows = {row["name"]: tuple(_cells(text, row, columns, heads)) for row in text["row"]}
    kept = (text["title"], text["measure"], text["epoch"], text["samples"], text["classes"], text.get("about", ""))
    averages = {row["name"]: row["average"] for row in text["row"] if "average" in row}
    return PaperTable(name, *kept, tuple(heads), rows, averages)


def _cells(text: dict[str, Any], row: dict[str, Any], columns: list[Any], heads: list[str]) -> Iterator[Cell]:
    """The cells of a row.

    The settings of a cell are those of the table, of its column, of its row, and of the cell itself: ``[row.at]`` has
    them by the name of a column or of a value of an axis.

    Args:
        text: The file of the table.
        columns: For each column a value of each axis: what it is called, what it sets, or which number of a run it is.
    """
    spreads = row.get("spread", [nan] * len(columns))
    for column, head, paper, spread in zip(columns, heads, row["paper"], spreads, strict=True):
        changes = tuple(change for value in column for change in value.get("set", ()))
        metric = next((value["metric"] for value in column if "metric" in value), row.get("metric", "test_accuracy"))
        own = ", ".join(value["name"] for value in column if "metric" not in value)
        at = row.get("at", {})
        called = dict.fromkeys([*(value["name"] for value in column), head])
        special = [change for key in called for change in at.get(key, ())]
        yield Cell(
            column=head,
            method=row.get("method", ""),
            recipe=row.get("recipe", text["recipe"]),
            changes=(*text.get("set", ()), *changes, *row.get("set", ()), *special),
            paper=paper,
            spread=spread,
            metric=metric,
            run=re.sub(r"[^\w+.-]+", "-", f"{row['name']} {own}").strip("-").lower(),
        )
