"""The result of each run of a comparison, read from its folder alone."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from reweigh import __version__
from reweigh.compare.grid import name_of
from reweigh.plan.plan import Plan
from reweigh.plan.toml import to_toml
from reweigh.training import Result, Run
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
    """The row of a run."""
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
