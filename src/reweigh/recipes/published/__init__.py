"""The tables of the paper: which recipe makes which cell, the number there, and those of runs made here."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from itertools import product
from math import isnan, nan
from pathlib import Path
from statistics import mean, stdev
from typing import Any, NamedTuple

from reweigh.errors import DataError, RecipeError
from reweigh.fit.run_folder import open_run
from reweigh.names import listed, suggestion
from reweigh.plan.edit import to_values
from reweigh.plan.plan import Plan
from reweigh.recipes.read import check, read
from reweigh.training import Result, Run
from reweigh.training.run import status


class Cell(NamedTuple):
    """One number of a table.

    Attributes:
        method: Our name of the method; empty if it is not here.
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
        measure: "accuracy" or "error", in percent.
        epoch: Which numbers of a run the paper reports: "last", or "last-ten", the mean of the last ten epochs.
        about: What differs from the paper.
        rows: Name of each row -> its cells, in the order of the columns.
        averages: Name of each row -> the mean over its cells that the paper has; empty if it has none.
    """

    name: str
    title: str
    measure: str
    epoch: str
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
    kept = (text["title"], text["measure"], text["epoch"], text.get("about", ""))
    averages = {row["name"]: row["average"] for row in text["row"] if "average" in row}
    return PaperTable(name, *kept, tuple(heads), rows, averages)


def _cells(text: dict[str, Any], row: dict[str, Any], columns: list[Any], heads: list[str]) -> Iterator[Cell]:
    """The cells of a row.

    The settings of a cell are those of the table, of its column, of its row, and of the cell itself: ``[row.at]`` has
    them by the name of a column or of a value of an axis.

    Args:
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


PAPER_TRIALS = 3  # "over 3 trials", where the paper has a spread
SIGNIFICANCE = 0.05  # p-value below which two means differ by more than chance
ABSENT = object()
IMMATERIAL = {  # settings that do not change what a run comes to, but for the last digits
    *("train.seed", "train.device", "train.num_threads", "train.branch", "train.looks", "train.checkpoint_steps"),
    *("data.root", "model.channels_last", "model.compile"),
}


class Ours(NamedTuple):
    """The finished runs of a cell.

    Attributes:
        values: A number for each finished seed, in percent; NaN if a run has none.
        differ: Settings that differ from those of the cell.
    """

    values: tuple[float, ...]
    wanted: int
    differ: tuple[str, ...]

    @property
    def mean(self) -> float:
        return mean(self.values)

    @property
    def spread(self) -> float:
        return stdev(self.values) if len(self.values) > 1 else nan


def path_of(shown: PaperTable, cell: Cell, runs: Path, seed: int = 0) -> Path:
    """Where the run of a cell is: RUNS/TABLE/CELL, or RUNS/TABLE/CELL-seedSEED for seeds other than 0."""
    return runs / shown.name / (f"{cell.run}-seed{seed}" if seed else cell.run)


def ours(shown: PaperTable, cell: Cell, runs: Path, seeds: int = 1) -> Ours:
    """What the runs of a cell came to.

    Args:
        seeds: How many seeds, counted from 0; runs that are not finished are left out.
    """
    found = [path for seed in range(seeds) if status(Run(path := path_of(shown, cell, runs, seed))) == "finished"]
    if not found:
        return Ours((), seeds, ())
    settings = [settings_of(open_run(path)[1]) for path in found]
    for path, each in zip(found[1:], settings[1:], strict=True):
        if other := different(settings[0], each):
            raise DataError(
                f"{found[0]} and {path} differ in {listed(other, 3)}, so they are not averaged; train one of them again"
            )
    wanted = settings_of(check(read(cell.recipe, [*cell.changes, f"method.name={cell.method}"])))
    return Ours(tuple(_number(shown, cell, path) for path in found), seeds, different(wanted, settings[0]))


def more_than_chance(cell: Cell, found: Ours) -> bool:
    """Whether a number differs from that of the paper by more than chance: Welch's t-test, if both have a spread."""
    if isnan(cell.spread) or isnan(found.spread) or not (cell.spread or found.spread):
        return False
    from scipy.stats import ttest_ind_from_stats

    of_paper, here = (cell.paper, cell.spread, PAPER_TRIALS), (found.mean, found.spread, len(found.values))
    return bool(ttest_ind_from_stats(*of_paper, *here, equal_var=False).pvalue < SIGNIFICANCE)


def settings_of(plan: Plan) -> dict[str, Any]:
    flat = _flat("", to_values(plan))
    return {key: value for key, value in flat.items() if key not in IMMATERIAL}


def different(one: Mapping[str, Any], other: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(key for key in {**one, **other} if one.get(key, ABSENT) != other.get(key, ABSENT))


def _flat(key: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict | list | tuple) or not value:
        return {key: value}
    items = value.items() if isinstance(value, dict) else enumerate(value)
    return {name: each for k, v in items for name, each in _flat(f"{key}.{k}" if key else str(k), v).items()}


def _number(shown: PaperTable, cell: Cell, path: Path) -> float:
    result = Result(Run(path).read_metrics())
    share = (result.last_ten if shown.epoch == "last-ten" else result.kept).get(cell.metric, nan)
    return 100 * (1 - share if shown.measure == "error" and "error" not in cell.metric else share)
