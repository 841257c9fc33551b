"""The status of a run: what its files say, and whether its process is still running."""

from pathlib import Path

from reweigh.errors import DataError
from reweigh.files import ledger, read_bytes, read_json
from reweigh.files.lock import owner
from reweigh.files.seals import sums
from reweigh.files.tensors import read
from reweigh.training.run import Run

STATES = {
    "absent": "there is no run",
    "running": "a process is training it",
    "finished": "all results are written",
    "incomplete": "trained, but results are missing; --resume writes them",
    "interrupted": "stopped or killed; --resume continues it",
    "diverged": "the loss was no longer finite",
    "failed": "ended by an error; --resume continues it",
    "damaged": "a file is not as it was written",
}


def status(run: Run) -> str:
    """One of ``STATES``, except "damaged", which only ``damage`` looks for.

    A run whose process is dead is never "running", whatever its summary says.

    Raises:
        DataError: The summary is damaged.
    """
    if not run.recipe.is_file():
        return "absent"
    if owner(run.path) is not None:
        return "running"
    if not run.summary.is_file():
        return "interrupted"
    found = str(read_json(run.summary).get("status"))
    if found == "finished":
        return "incomplete" if missing(run) else "finished"
    return found if found in ("diverged", "failed") else "interrupted"


def missing(run: Run) -> list[Path]:
    """Results that a finished run has and this one lacks."""
    return [file for file in (run.model, run.classes, run.inputs, run.samples) if not file.is_file()]


def damage(run: Run) -> list[str]:
    """What is wrong with each file that is not as it was written, including checkpoints and decisions."""
    found = []
    try:
        sealed = [run.path / name for name in sums(run.path)]
    except DataError as error:
        return [str(error)]
    for file in sealed:
        try:
            read_bytes(file)
        except (DataError, OSError) as error:
            found.append(f"{file}: sealed, but missing" if isinstance(error, FileNotFoundError) else str(error))
    proving_themselves = {run.checkpoint: read, run.previous: read, run.warmed_up: read, run.decisions: ledger.read}
    for file, opened in proving_themselves.items():
        if file.exists():
            try:
                opened(file)
            except DataError as error:
                found.append(str(error))
    return found
