"""The folder of a run: where its files are, how each is written, and what they say about its status."""

import csv
import io
import json
import math
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Any

import torch
from torch import Tensor, nn

from reweigh.errors import DataError
from reweigh.files import append_line, ledger, read_bytes, read_json, read_text, seal, unseal, write_whole
from reweigh.files.lock import LOCK_NAME as LOCK
from reweigh.files.lock import owner
from reweigh.files.tensors import pack, read
from reweigh.files.whole import SUMS_NAME as SUMS
from reweigh.files.whole import sums, writing
from reweigh.training.checkpoint import plain_tensor


def _file(name: str) -> property:
    return property(lambda run: run.path / name)


@dataclass(frozen=True)
class Run:
    """A run folder. ``Run.create`` begins one, ``Run.open`` returns to one; its properties are the files in it."""

    path: Path

    recipe = _file("recipe.toml")
    metrics = _file("metrics.jsonl")
    summary = _file("summary.json")
    model = _file("model.safetensors")
    weighting = _file("weighting.safetensors")
    samples = _file("samples.csv")
    held_out = _file("held_out.csv")
    test = _file("test.csv")
    abstain = _file("abstain.csv")
    labelers = _file("labelers.csv")
    votes = _file("votes.csv")
    next_labels = _file("next_labels.csv")
    classes = _file("classes.json")
    inputs = _file("inputs.json")
    decisions = _file("decisions.jsonl")  # what reviewers decided; people's work, which no run removes
    report = _file("report.html")
    checkpoint = _file("checkpoint/last.safetensors")
    previous = _file("checkpoint/previous.safetensors")  # the checkpoint before the last one
    warmed_up = _file("checkpoint/warmed-up.safetensors")  # that of the end of the warm-up, to branch from

    @classmethod
    def create(cls, path: str | Path, recipe: str, overwrite: bool = False) -> "Run":
        """Begin a run in a folder that is new or empty.

        Args:
            recipe: the resolved recipe, TOML, that reproduces the run; it is stored first and makes the folder a run.
            overwrite: clear the files of an earlier run first. Anything else in the folder is left alone.

        Raises:
            DataError: there is something at ``path`` that may not be overwritten, or is not a run.
        """
        run = cls(Path(path))
        run.check_room(overwrite)
        run._drop_leftovers()
        if run.recipe.exists():
            run._clear()
        with writing(run.recipe):
            run.checkpoint.parent.mkdir(parents=True, exist_ok=True)
        write_whole(run.recipe, recipe)
        seal(run.path, [run.recipe])
        return run

    def check_room(self, overwrite: bool) -> None:
        """Raise a DataError if ``create`` would: better at once than after the data were read."""
        path = self.path
        if path.exists() and not path.is_dir():
            raise DataError(f"{path}: is a file; give the path of a folder for the run")
        self._check_inside()
        leftovers = {LOCK, *(item.name for item in self._leftovers())}  # of one that was killed before its first file
        if any(item.is_file() and item.name not in leftovers for item in path.rglob("*")):
            if not self.recipe.exists():
                raise DataError(f"{path}: the folder contains files that are not of a run; choose another folder")
            if not overwrite:
                raise DataError(
                    f"{path}: there is a run already; continue it with --resume, replace it with --overwrite, "
                    "or choose another folder"
                )

    @classmethod
    def open(cls, path: str | Path) -> "Run":
        """Return to a run, to resume or to read it; a DataError if there is none at ``path``."""
        run = cls(Path(path))
        if not run.recipe.is_file():
            raise DataError(f"{path}: there is no run here (no {run.recipe.name}); give the folder of a run")
        run._check_inside()
        with writing(run.checkpoint):
            run.checkpoint.parent.mkdir(exist_ok=True)
        run._drop_leftovers()
        return run

    def _check_inside(self) -> None:
        """Refuse to write checkpoints outside of the folder, which may come from somebody else."""
        if self.checkpoint.parent.is_symlink():
            raise DataError(
                f"{self.checkpoint.parent}: is a link to another place, where reweigh does not write; replace it "
                "with the folder that it points to"
            )

    def _drop_leftovers(self) -> None:
        for leftover in self._leftovers():
            leftover.unlink(missing_ok=True)

    def _leftovers(self) -> Iterator[Path]:
        return chain.from_iterable(folder.glob(".*.part") for folder in (self.path, self.checkpoint.parent))

    def stage(self, name: str) -> Path:
        """Where the result of a stage is kept until the run has ended, so that it is not trained again."""
        return self.checkpoint.parent / f"{name.replace(' ', '-')}.safetensors"

    @property
    def results(self) -> list[Path]:
        tables = [self.samples, self.held_out, self.test, self.abstain, self.labelers, self.votes, self.next_labels]
        return [self.metrics, self.summary, self.model, self.weighting, self.classes, self.inputs, *tables]

    def seal(self) -> None:
        """Write the checksums of recipe and results; until then, results count as being written."""
        seal(self.path, [self.recipe, *self.results])

    def unseal(self) -> None:
        """Remove the checksums of the results, which are about to be written."""
        unseal(self.path, self.results)

    def _write(self, file: Path, content: bytes | str) -> None:
        unseal(self.path, [file])
        write_whole(file, content)

    def append_metrics(self, line: Mapping[str, Any]) -> None:
        """Add the numbers of an epoch as one line."""
        unseal(self.path, [self.metrics])
        append_line(self.metrics, _json(line))

    def write_metrics(self, lines: Iterable[Mapping[str, Any]]) -> None:
        """Replace all lines: a resumed run keeps only those up to its checkpoint, so that no epoch appears twice."""
        self._write(self.metrics, "".join(_json(line) + "\n" for line in lines))

    def read_metrics(self) -> list[dict[str, Any]]:
        """The numbers of each finished epoch; a line that a killed process left incomplete does not count."""
        if not self.metrics.is_file():
            return []
        lines = read_text(self.metrics).split("\n")[:-1]
        try:
            return [dict(json.loads(line)) for line in lines]
        except (ValueError, TypeError, RecursionError) as error:
            raise DataError(f"{self.metrics}: not the metrics of a run, one JSON object per line ({error})") from error

    def write_summary(self, summary: Mapping[str, Any]) -> None:
        self._write(self.summary, _json(summary, indent=2) + "\n")

    def write_model(self, model: nn.Module) -> None:
        """Store the weights under the names of ``model.state_dict()``, readable by any safetensors reader."""
        state = model.state_dict()
        tensors = {name: plain_tensor(value) for name, value in state.items() if isinstance(value, Tensor)}
        self._write(self.model, pack(tensors, {"format": "pt"}))

    def write_table(self, file: Path, columns: Mapping[str, Sequence[Any]]) -> None:
        """Store a table, such as ``samples``; None and NaN become empty cells."""
        self._write(file, _csv(columns))

    def write_predictions(
        self,
        file: Path,
        labels: Tensor,
        logits: Tensor,
        scores: Tensor,
        correction: Tensor | None = None,
        called: Mapping[str, Sequence[Any]] = MappingProxyType({}),
    ) -> None:
        """Store the prediction for each sample: index, label, predicted, its probability, right, score, and ``called``.

        Args:
            file: ``test``, or ``abstain`` for samples held out of training, whose scores set thresholds.
            labels: shape (N,).
            logits: shape (N, num_classes).
            scores: shape (N,), confidence of the model; in full precision, to rank samples.
            correction: shape (C, C), how much a label counts for each true class, if labels may be wrong. ``right`` is
                then, on average, how many predictions are right on true labels; a single one may be outside of 0 to 1.
            called: What samples are called, such as their row and name, as further columns.
        """
        probability, predicted = logits.softmax(1).max(1)
        columns = {"label": labels.tolist(), "predicted": predicted.tolist(), "probability": probability.tolist()}
        right = (predicted == labels).double()
        if correction is not None:
            right = torch.where(labels >= 0, correction[predicted, labels.clamp_min(0)], torch.nan)
        columns["right"] = right.tolist()
        score = list(map(repr, scores.tolist()))
        self._write(file, _csv({"index": range(len(labels)), **columns, "score": score, **called}))

    def write_classes(
        self,
        names: Sequence[str],
        sizes: Sequence[int],
        families: Sequence[int] | None,
        finding: Mapping[str, Any] | None = None,
        decision: Mapping[str, Any] | None = None,
    ) -> None:
        """Store the classes of the training set.

        Args:
            sizes: number of samples of each class by given label.
            families: family of each class, if there are families.
            finding: estimated shares of wrong labels in each class with their limits, and words, if there are any.
            decision: how logits become probabilities.
        """
        content: dict[str, Any] = {"names": list(names), "sizes": list(sizes)}
        content |= {"families": families and list(families), "finding": finding and dict(finding), "decision": decision}
        self._write(self.classes, _json(content, indent=2) + "\n")

    def _clear(self) -> None:
        """Remove the files of a run, the recipe last: until then the folder is still a run."""
        shutil.rmtree(self.checkpoint.parent, ignore_errors=True)
        (self.path / SUMS).unlink(missing_ok=True)
        for file in (*self.results, self.report, self.recipe):
            file.unlink(missing_ok=True)


def _csv(columns: Mapping[str, Sequence[Any]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*([_cell(value) for value in column] for column in columns.values()), strict=True))
    return text.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.6g}"
    return "" if value is None else value


def _json(value: Mapping[str, Any], indent: int | None = None) -> str:
    """Strict JSON; a number that is not finite becomes null."""
    return json.dumps(_finite(value), indent=indent, allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


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
