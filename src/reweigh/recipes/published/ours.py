"""The numbers of runs made here, to stand beside those of the paper."""

from collections.abc import Mapping
from math import isnan, nan
from pathlib import Path
from statistics import mean, stdev
from typing import Any, NamedTuple

from reweigh.errors import DataError
from reweigh.fit.run_folder import open_run
from reweigh.names import listed
from reweigh.plan.plan import Plan
from reweigh.plan.toml import to_values
from reweigh.recipes.published import Cell, PaperTable
from reweigh.recipes.read import check, read
from reweigh.training import Result, Run
from reweigh.training.run import status

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
        wanted: How many seeds were asked for.
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
        """The standard deviation over seeds; NaN for a single one."""
        return stdev(self.values) if len(self.values) > 1 else nan


def path_of(shown: PaperTable, cell: Cell, runs: Path, seed: int = 0) -> Path:
    """Where the run of a cell is: RUNS/TABLE/CELL, or RUNS/TABLE/CELL-seedSEED for seeds other than 0."""
    return runs / shown.name / (f"{cell.run}-seed{seed}" if seed else cell.run)


def ours(shown: PaperTable, cell: Cell, runs: Path, seeds: int = 1) -> Ours:
    """What the runs of a cell came to.

    Args:
        runs: Folder of the runs, see ``path_of``.
        seeds: How many seeds, counted from 0; runs that are not finished are left out.

    Raises:
        DataError: Runs of different seeds have different settings, so that their mean means nothing.
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
    """The settings of a plan by dotted key, without those that do not matter."""
    flat = _flat("", to_values(plan))
    return {key: value for key, value in flat.items() if key not in IMMATERIAL}


def different(one: Mapping[str, Any], other: Mapping[str, Any]) -> tuple[str, ...]:
    """The keys whose values differ."""
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
