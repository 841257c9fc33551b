"""What a resumed run, or a branch of one, needs: stages that have ended, progress, method and random generators."""

import json
import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Generator, Tensor, nn
from torch.optim import Optimizer

from reweigh.core.method import Method
from reweigh.errors import DataError, DivergedError, ModelError
from reweigh.files.whole import checksum
from reweigh.names import plural
from reweigh.training import checkpoint, processes, randomness
from reweigh.training.judge import Judge
from reweigh.training.predictions import Record
from reweigh.training.result import Means, Result
from reweigh.training.run import Run

BRANCHED_PARTS = ("model", "optimizer")  # of the state of a method, which a branch continues from


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
        if missing := [part for part in BRANCHED_PARTS if part not in self.state["method"]]:
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


@dataclass(frozen=True)
class Stage:
    """Which training of a run this is.

    Attributes:
        name: Name of the stage.
        history: The lines of the epochs of earlier stages.
        last: Whether no other stage follows.
    """

    name: str = ""
    history: list[dict[str, Any]] = field(default_factory=list)
    last: bool = True


ALONE = Stage()
"""The only training of a run."""


class Stages:
    """The results of the stages of a run, each computed once: a resumed run reads those that have ended.

    >>> stages = Stages()
    >>> stages("first look", lambda: {"epochs": 3})
    {'epochs': 3}

    Args:
        identity: Checksum of the training data.
    """

    def __init__(self, identity: str = ""):
        self._identity = identity
        self.run: Run | None = None

    def __call__(self, name: str, compute: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """The result of a stage, as plain values and tensors; a DataError if the data have changed since it ended."""
        run = self.run
        if run is None:
            return compute()
        file = run.stage(name)
        if processes.first(file.exists):
            state = processes.first(lambda: checkpoint.load(file))
            if state["data"] != self._identity:
                raise DataError(
                    f"{file}: the training data have changed since it was written: other labels, files or rows; "
                    "put them back as they were, or train again with --overwrite"
                )
            return state["result"]
        result = compute()
        processes.first(lambda: checkpoint.save(file, {"data": self._identity, "result": result}))
        return result


log = logging.getLogger(__name__)


@dataclass
class Place:
    """How far a run has come.

    Attributes:
        epoch: the epoch under way, from 0.
        step: the steps of it that are done; 0 means that the method has not started it yet.
        means: running means of its numbers.
        seconds: time spent on it, including before interruptions.
        history: the lines of the epochs before, those of earlier stages included.
    """

    epoch: int = 0
    step: int = 0
    means: Means = field(default_factory=Means)
    seconds: float = 0.0
    history: list[dict[str, Any]] = field(default_factory=list)

    def end_step(self, numbers: Mapping[str, float | Tensor], samples: int) -> None:
        self.step += 1
        self.means.add(numbers, samples)

    def end_epoch(
        self, lr: float, tested: Mapping[str, float], judged: Mapping[str, float], seconds: float
    ) -> dict[str, Any]:
        """Add a line to the history, move to the start of the next epoch, and return the line."""
        line: dict[str, Any] = {"epoch": len(self.history) + 1, "lr": lr}
        line |= {f"train_{name}": value for name, value in self.means.means().items()}
        line |= {f"test_{name}": value for name, value in tested.items()}
        line |= {f"judge_{name}": value for name, value in judged.items()}
        line["seconds"] = seconds
        self.history.append(line)
        self.epoch, self.step, self.means, self.seconds = self.epoch + 1, 0, Means(), 0.0
        return line

    def state_dict(self) -> dict[str, Any]:
        # The history as one string: it grows with every epoch, and a checkpoint may be written every few steps.
        return {**vars(self), "means": self.means.state_dict(), "history": json.dumps(self.history)}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> "Place":
        place = cls(**{**state, "means": Means(), "history": json.loads(state["history"])})
        place.means.load_state_dict(state["means"])
        return place


class Keeper:
    """Saves a run and puts it back; without a run folder it does neither.

    Args:
        settings: what the position in an epoch depends on (samples, batch_size, seed) and a checksum of the data; a
            checkpoint must agree, and its recipe must be that of the run.
    """

    def __init__(
        self,
        run: Run | None,
        method: Method,
        generator: Generator,
        settings: dict[str, Any],
        record: Record | None = None,
        judge: Judge | None = None,
        stage: Stage = ALONE,
    ) -> None:
        self.run = run
        self.method = method
        self.generator = generator
        self.stage = stage
        self.parts: dict[str, Any] = {"record": record, "judge": judge}
        self.settings = {**settings, "stage": stage.name}
        if run is not None:
            self.settings["recipe"] = processes.first(lambda: checksum(run.recipe.read_bytes()))

    def save(self, place: Place, keep: bool = False) -> None:
        """Write a checkpoint that continues exactly here.

        Args:
            keep: whether to keep it for branches too.

        Raises:
            DataError: the file cannot be written; the previous checkpoint remains.
        """
        run = self.run
        if run is None:
            return
        state = {
            "settings": self.settings,
            "place": place.state_dict(),
            "method": self.method.state_dict(),
            **{name: part.state_dict() if part else None for name, part in self.parts.items()},
            "random": {"global": randomness.snapshot(), "own": self.generator.get_state()},
        }

        def write() -> None:
            if keep:
                checkpoint.save(run.warmed_up, state)
            checkpoint.save(run.checkpoint, state, keep=run.previous)

        processes.first(write)

    def end_epoch(self, place: Place, line: Mapping[str, Any], epochs: int, keep: bool = False) -> None:
        """Write the numbers of an epoch that has ended, and a checkpoint.

        Args:
            keep: whether to keep the checkpoint for branches too.

        Raises:
            DataError: a file cannot be written.
        """
        run = self.run
        if run is None:
            return

        def write() -> None:
            run.append_metrics(line)
            run.write_summary(Result(place.history).summary("running", epochs))

        processes.first(write)
        self.save(place, keep and place.epoch < epochs)

    def load(self, branch: Branch | None = None) -> Place:
        """Restore method and generators from the checkpoint; without one, leave them as they are, or branch.

        Args:
            branch: what to continue from if the run has no checkpoint yet; its method is not restored.

        Raises:
            DataError: the file is not a checkpoint, or one of a run with another method, model, seed or training set.
        """
        run = self.run
        if run is None:
            return Place(history=list(self.stage.history))
        file, state = processes.first(lambda: latest(run))
        if file is None and branch is not None:
            return self._branch(run, branch)
        if file is None or state["settings"]["stage"] != self.stage.name:  # the last one is of an earlier stage
            if self.stage.history or run.metrics.exists():
                processes.first(lambda: run.write_metrics(self.stage.history))
            return Place(history=list(self.stage.history))
        if file == run.previous:
            log.info("%s: the last checkpoint is missing; continuing from the one before it", run.path)
        remedy = "resume with the recipe that it was started with"
        try:
            wrote = state["settings"]
            differ = {
                name for name in wrote.keys() | self.settings.keys() if wrote.get(name) != self.settings.get(name)
            }
            if differ and differ <= {"data", "samples"}:
                remedy = "put them back as they were, or train again with --overwrite"
                raise ValueError(
                    f"the training data have changed since it was written: other labels, files or rows; "
                    f"{wrote['samples']} samples then, {self.settings['samples']} now"
                )
            if differ:
                raise ValueError(f"written with {wrote}, this run has {self.settings}")
            place = Place.from_state(state["place"])
            self.method.load_state_dict(state["method"])
            self._restore(state)
        except (LookupError, TypeError, ValueError, AttributeError, RuntimeError) as error:
            raise DataError(
                f"{file}: the checkpoint does not fit this run ({type(error).__name__}: {error}); {remedy}"
            ) from error
        processes.first(lambda: run.write_metrics(place.history))
        steps = f" and {plural(place.step, 'step')} of the next" if place.step else ""
        log.info("%s: continuing after %s%s", run.path, plural(place.epoch, "epoch"), steps)
        return place

    def _branch(self, run: Run, branch: Branch) -> Place:
        """Continue from the checkpoint of another run, whose method may be another one."""
        file, state = branch
        if state is None:
            raise DataError(f"train.branch: there is no checkpoint {file}; give a run that has trained")
        wrote = state["settings"]
        if differ := [words for name, words in BRANCH_SETTINGS.items() if wrote.get(name) != self.settings.get(name)]:
            raise DataError(
                f"train.branch: {file} is of a run with another {' and '.join(differ)}; a branch continues with the "
                "same samples in the same order"
            )
        place = Place.from_state(state["place"])
        if place.step:
            raise DataError(
                f"train.branch: {file} was written in the middle of epoch {place.epoch + 1}; resume that run until the "
                "epoch has ended"
            )
        if (self.parts["judge"] is None) != (state["judge"] is None):
            raise DataError(f"train.branch: {file} is of a run with another train.judge; use the same in both")
        self._restore(state)
        processes.first(lambda: run.write_metrics(place.history))
        log.info("branching after %s from %s", plural(place.epoch, "epoch"), file)
        return place

    def _restore(self, state: dict[str, Any]) -> None:
        for name, part in self.parts.items():
            if part is not None and state[name] is not None:
                part.load_state_dict(state[name])
        self.generator.set_state(state["random"]["own"])
        randomness.restore(state["random"]["global"])


BRANCH_SETTINGS = {"samples": "number of samples", "batch_size": "batch size", "seed": "seed", "data": "training set"}


def latest(run: Run) -> tuple[Path | None, Any]:
    """The checkpoint of a run to continue from, and the state in it; None if there is none."""
    file = next((file for file in (run.checkpoint, run.previous) if file.exists()), None)
    return file, None if file is None else loaded(file, run)


def loaded(file: Path, run: Run) -> Any:
    """The state in a checkpoint of a run; if it is damaged, the DataError says whether the one before can be used."""
    try:
        return checkpoint.load(file)
    except DataError as error:
        remedy = "restore the file from a copy, or train again with --overwrite"
        if file == run.checkpoint and run.previous.is_file():
            with suppress(DataError):
                place = Place.from_state(checkpoint.load(run.previous)["place"])
                remedy = (
                    f"the checkpoint before it is good (epoch {place.epoch + 1}, step {place.step}). To continue from "
                    f"that one, delete {file} and resume again; the result will be the same"
                )
        raise DataError(f"{error}; {remedy}") from error


def check_finite(model: nn.Module) -> None:
    """Raise a DivergedError if a parameter is not finite: a checkpoint of such a model would be useless."""
    for name, parameter in model.named_parameters():
        if not torch.isfinite(parameter).all():
            raise DivergedError(f"the parameter {name} is no longer finite")
