"""``reweigh list runs``: every run below a folder, and how it stands."""

from pathlib import Path
from typing import TYPE_CHECKING

from reweigh.cli.printing import echo, show_table
from reweigh.errors import DataError, ReweighError

if TYPE_CHECKING:
    from reweigh.training import Run


def show_runs(folder: Path) -> None:
    """Print the runs below a folder, and what is wrong with the damaged ones.

    Raises:
        DataError: There is no such folder.
    """
    from reweigh.data.checks import plural
    from reweigh.training import Run
    from reweigh.training.status import STATES, damage, status

    if not folder.is_dir():
        raise DataError(f"{folder}: there is no such folder; give the folder that your runs are in")
    rows, wrong = [], []
    for recipe in sorted(folder.rglob("recipe.toml")):
        run = Run(recipe.parent)
        found = damage(run)
        wrong += found
        state = "damaged" if found else status(run)
        rows.append([str(run.path), *_numbers(run), state, STATES[state]])
    if not rows:
        echo(f"{folder}: no runs")
        return
    show_table(f"{plural(len(rows), 'run')} in {folder}", ["run", "method", "epochs", "status", "meaning"], rows)
    for line in wrong:
        echo(line)


def _numbers(run: "Run") -> list[str]:
    """The method of a run, and its epochs done and planned; a dash for what cannot be read."""
    from reweigh.fit.run_folder import open_run

    try:
        plan = open_run(run.path)[1]
        return [plan.method.name, f"{len(run.read_metrics())}/{plan.train['epochs']}"]
    except (ReweighError, OSError):
        return ["-", "-"]
