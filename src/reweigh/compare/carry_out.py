"""Carry out a comparison: make the planned runs that are missing, and read the results of all."""

import json
import traceback
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch

from reweigh import __version__, methods
from reweigh.compare.grid import Key, name_of
from reweigh.compare.parallel import side_by_side
from reweigh.errors import DataError, LostProcessError, RecipeError, ReweighError
from reweigh.fit.run_folder import begin
from reweigh.fit.run_folder import resume as continue_run
from reweigh.names import listed
from reweigh.plan.edit import from_toml, to_toml
from reweigh.plan.plan import Plan
from reweigh.recipes.read import check, read
from reweigh.training import Observer, Result, Run, processes
from reweigh.training.progress import Series
from reweigh.training.run import status


class Row(NamedTuple):
    """One run.

    Attributes:
        last: the number that decides (accuracy, say) on the test set after the epoch that was kept (the last one,
            unless a judge chose another), in percent (a log loss as it is); None unless the run is finished.
        best: The same after the epoch with the highest such number.
        last_epoch: the line of metrics.jsonl; empty if no epoch was finished.
        seconds: Training time, before and after interruptions.
        status: see ``reweigh.training.run``; "failed" if nothing better is known of an error.
    """

    bias: str
    method: str
    seed: int
    last: float | None
    best: float | None
    last_epoch: dict[str, Any]
    best_epoch: dict[str, Any]
    seconds: float
    status: str
    error: str | None
    run: str
    recipe: str


def read_row(recipe: Plan, path: Path, bias: str = "", error: str | None = None) -> Row:
    found, result = status(Run(path)), Result(Run(path).read_metrics())
    if error and found in ("absent", "running", "interrupted", "incomplete", "finished"):
        found = "failed"
    last, best = (result.kept, result.best) if result.history else ({}, {})
    judged_by = next((name for name in last if name.startswith("test_")), "")
    judged = found == "finished" and None not in (last.get(judged_by), best.get(judged_by))
    unit = 1 if judged_by.endswith("log_loss") else 100
    return Row(
        bias=bias or name_of(recipe.source),
        method=recipe.method.name,
        seed=recipe.train["seed"],
        last=unit * last[judged_by] if judged else None,
        best=unit * best[judged_by] if judged else None,
        last_epoch=last,
        best_epoch=best,
        seconds=sum(line["seconds"] for line in result.history),
        status=found,
        error=error,
        run=str(path),
        recipe=to_toml(recipe),
    )


def to_json(rows: Iterable[Row], **about: Any) -> str:
    """The rows with everything that is needed to repeat them."""
    import platform

    import torch

    versions = {"reweigh": __version__, "torch": torch.__version__, "python": platform.python_version()}
    return json.dumps({**versions, **about, "rows": [row._asdict() for row in rows]}, indent=2) + "\n"


class Job(NamedTuple):
    """A run to make."""

    recipe: Plan
    path: Path
    begun: bool
    overwrite: bool
    threads: int
    trust_code: bool = False

    def to_json(self) -> dict[str, Any]:
        """The job for another process, with its recipe as TOML."""
        return {**self._asdict(), "recipe": to_toml(self.recipe), "path": str(self.path)}


def carry_out(
    planned: Mapping[Key, Plan],
    folder: Path,
    workers: int = 1,
    resume: bool = False,
    overwrite: bool = False,
    series: Series | None = None,
    trust_code: bool = False,
) -> list[Row]:
    """Make the runs, each in its own folder in ``folder``; if one fails, its row has the error and the others continue.

    Args:
        workers: How many runs at once, each in a process of its own with its share of torch's threads. One is this
            process itself.
        resume: Leave finished runs as they are without a look at the data, continue begun ones, begin the others.
    """
    if workers < 1:
        raise RecipeError(f"workers: got {workers}; should be at least 1")
    if workers > 1 and processes.several():
        raise RecipeError(
            "workers: torchrun's processes share each run; leave out --workers, or start without torchrun"
        )
    paths = {key: key.path(folder) for key in planned}
    threads = max(1, torch.get_num_threads() // workers)
    resume = resume or processes.restarted()

    def to_do() -> dict[Key, Job]:
        if Run(folder).recipe.is_file():
            raise DataError(f"{folder}: is the folder of a run; choose another one for the comparison with --out")
        check_folders({paths[key]: recipe for key, recipe in planned.items()}, resume, overwrite)
        return {
            key: Job(recipe, paths[key], resume and Run(paths[key]).recipe.is_file(), overwrite, threads, trust_code)
            for key, recipe in planned.items()
            if not (resume and status(Run(paths[key])) == "finished")
        }

    jobs = processes.first(to_do)
    used = {job.recipe.method.name for job in jobs.values()}
    if processes.several() and (alone := sorted(name for name in used if methods.find(name).one_process)):
        raise RecipeError(
            f"methods: {listed(alone)} cannot run in several processes, because layers inside the network are used; "
            "leave out such methods, and run them without torchrun"
        )
    series = series or Series()
    rows: dict[Key, Row] = {}

    def ended(key: Key, error: str | None) -> None:
        rows[key] = processes.first(lambda: read_row(planned[key], paths[key], key.bias, error))
        series.end(str(key), rows[key].last, error)

    series.start(len(planned), len(planned) - len(jobs))
    try:
        if workers == 1:
            for key, job in jobs.items():
                ended(key, attempt(job, series.begin(str(key))))
        else:
            side_by_side(
                f"{__name__}:attempt_elsewhere", {key: job.to_json() for key, job in jobs.items()}, workers, ended
            )
    except KeyboardInterrupt:
        done = sum(status(Run(path)) == "finished" for path in paths.values())
        raise KeyboardInterrupt(f"interrupted; {done} of {len(planned)} runs are done") from None
    return processes.first(
        lambda: [rows[key] if key in rows else read_row(planned[key], paths[key], key.bias) for key in planned]
    )


def attempt(job: Job, observer: Observer | None = None) -> str | None:
    """Do a job; returns what went wrong, with the traceback if the error is unexpected."""
    torch.set_num_threads(job.threads)
    try:
        if job.begun:
            continue_run(job.path, observer, job.recipe, job.trust_code)
        else:
            begin(job.recipe, job.path, observer, job.overwrite, job.trust_code)
    except LostProcessError:
        raise
    except (ReweighError, OSError) as error:
        return f"{type(error).__name__}: {error}"
    except Exception:
        return traceback.format_exc()
    return None


def attempt_elsewhere(job: Mapping[str, Any]) -> str | None:
    """Do a job that another process has sent."""
    recipe, path = from_toml(job["recipe"], job["path"]), Path(job["path"])
    return attempt(Job(**{**job, "recipe": recipe, "path": path}))


def check_folders(planned: Mapping[Path, Plan], resume: bool, overwrite: bool) -> None:
    """Refuse to start if a folder holds files that may not be overwritten."""
    if overwrite:
        return
    if resume:
        others = [
            path for path, recipe in planned.items() if Run(path).recipe.is_file() and check(read(path)) != recipe
        ]
        if others:
            remedies = "replace them with --overwrite, or choose another --out"
            raise DataError(f"{listed(others, 3)}: started with another recipe; {remedies}")
    elif taken := [path for path in planned if path.exists()]:
        remedies = "continue with --resume, replace with --overwrite, or choose another --out"
        raise DataError(f"{listed(taken, 3)}: exists already; {remedies}")
