"""Branches: continue what one run has trained so far with another method."""

from pathlib import Path
from typing import Any, NamedTuple

from torch import nn
from torch.optim import Optimizer

from reweigh.errors import DataError, ModelError
from reweigh.training import checkpoint
from reweigh.training.run import Run

PARTS = ("model", "optimizer")  # of the state of a method, which a branch continues from


class Branch(NamedTuple):
    """A checkpoint to continue from, and the state in it; None if the file is missing."""

    file: Path
    state: dict[str, Any] | None

    @classmethod
    def open(cls, path: str | Path) -> "Branch":
        """Read a checkpoint: a file, or that of a run folder (``checkpoint_of``)."""
        file = checkpoint_of(path)
        return cls(file, checkpoint.load(file) if file.is_file() else None)

    def take_over(self, model: nn.Module, optimizer: Optimizer) -> None:
        """Give a model and its optimizer what they were in the checkpoint; rates and decays of the optimizer stay.

        Raises:
            ModelError: the checkpoint is of another model or optimizer, or of a method that does not train one model.
        """
        if self.state is None:
            return
        if missing := [part for part in PARTS if part not in self.state["method"]]:
            raise ModelError(
                f"train.branch: {self.file} has no {' and no '.join(missing)}; only a run whose method trains one "
                "model can be branched from, such as erm"
            )
        saved, own = self.state["method"]["optimizer"], optimizer.state_dict()["param_groups"]
        if [group.keys() for group in saved["param_groups"]] != [group.keys() for group in own]:
            raise ModelError(f"train.branch: {self.file} was trained with another optimizer; use the same one")
        try:
            model.load_state_dict(self.state["method"]["model"])
            optimizer.load_state_dict({"state": saved["state"], "param_groups": own})
        except (RuntimeError, ValueError) as error:
            raise ModelError(
                f"train.branch: {self.file} belongs to another model ({' '.join(str(error).split())[:200]}); use the "
                "model and options of that run"
            ) from error


def checkpoint_of(path: str | Path) -> Path:
    """The checkpoint to branch from: that of the end of the warm-up if the run has one, otherwise the last one."""
    path = Path(path)
    if not path.is_dir():
        return path
    run = Run(path)
    return run.warmed_up if run.warmed_up.is_file() else run.checkpoint


def check_branch(path: str | Path) -> Path:
    """The checkpoint to branch from; a DataError if there is none."""
    file = checkpoint_of(path)
    if not file.is_file():
        raise DataError(f"--branch {path}: no checkpoint there ({file}); give the folder of a run that has trained")
    return file
