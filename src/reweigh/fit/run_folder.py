"""A fit in a folder: train by a plan there, continue an interrupted run, and read the trained model back."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from reweigh.data import Dataset
from reweigh.data.labels.label_file import SEPARATOR
from reweigh.data.splits import at_origin
from reweigh.errors import DataError, LostProcessError, RecipeError, StorageError
from reweigh.files import read_json, read_text, write_whole
from reweigh.files.lock import locked
from reweigh.files.tensors import read
from reweigh.fit.decision import Decision
from reweigh.fit.fitting import Fit, fit, usable
from reweigh.fit.front import Front, open_front
from reweigh.fit.inputs import InputForm
from reweigh.fit.issues import is_held_out
from reweigh.fit.source import check_there, read_source
from reweigh.fit.start import refilled
from reweigh.fit.trainer import builder
from reweigh.issues import Samples
from reweigh.issues.consensus import labeler_table, next_votes, vote_table
from reweigh.models.selective import selects
from reweigh.plan import Part, Plan
from reweigh.plan.edit import from_toml, to_toml
from reweigh.training import Observer, Result, Run, processes
from reweigh.weighting import Origin, load_weighting, save_weighting

MAX_ASKED_SAMPLES = 1000  # that are listed as in need of another label


class Outcome(NamedTuple):
    """A finished run."""

    run: Run
    fit: Fit
    train_set: Dataset

    @property
    def plan(self) -> Plan:
        return self.fit.plan

    @property
    def result(self) -> Result:
        return Result(self.fit.history)


def begin(
    plan: Plan, path: Path, observer: Observer | None = None, overwrite: bool = False, trust_code: bool = False
) -> Outcome:
    """Train in a new run folder.

    Raises:
        DataError: There is a run at ``path`` already, or another process is writing there.
    """
    processes.first(lambda: Run(Path(path)).check_room(overwrite))
    with ExitStack() as stack:

        def create() -> Run:
            stack.enter_context(locked(Path(path)))
            return Run.create(path, to_toml(plan), overwrite)

        return _train(plan, Path(path), create, observer, trust_code)


def resume(
    path: Path, observer: Observer | None = None, expected: Plan | None = None, trust_code: bool = False
) -> Outcome:
    """Continue the run in a folder to its end; a finished one stays as it is.

    Args:
        expected: The plan that the run should have; one of another plan is refused.

    Raises:
        DataError: There is no run, or one of another plan, or another process is writing there.
    """
    run, plan = processes.first(lambda: open_run(path))
    if expected is not None and plan != expected:
        raise DataError(f"{path}: the run there has another recipe; choose another folder, or replace it (--overwrite)")
    check_there(plan.source)
    with ExitStack() as stack:

        def reopen() -> Run:
            stack.enter_context(locked(run.path))
            return Run.open(path)

        again = processes.first(reopen)
        return _train(plan, run.path, lambda: again, observer, trust_code)


def _train(plan: Plan, path: Path, folder: Callable[[], Run], observer: Observer | None, trust_code: bool) -> Outcome:
    train_set, test_set, trusted, further = read_source(plan)
    train_set = usable(train_set, plan.method.name)
    try:
        found = fit(
            train_set,
            plan,
            test_set=test_set,
            trusted=trusted,
            further=further,
            run=folder,
            observer=observer,
            trust_code=trust_code,
        )
    except LostProcessError as error:
        raise LostProcessError(
            f"{error}; continue, with any number of processes: reweigh train --resume {path}"
        ) from error
    train_set = at_origin(train_set, found.origin)  # the frozen network may have left out what cannot be read
    test_set = at_origin(test_set, found.test_origin)
    try:
        processes.first(lambda: write(found, Run(path), train_set, test_set))
    except StorageError as error:
        raise StorageError(
            f"{error}. Training is done, and its checkpoint is kept; then write the results with: "
            f"reweigh train --resume {path}",
            errno=error.errno,
        ) from error
    return Outcome(Run(path), found, train_set)


def write(found: Fit, run: Run, train_set: Dataset, test_set: Dataset | None = None) -> None:
    """Store everything that is known at the end of a training, and the checksums of it."""
    run.unseal()
    write_whole(run.inputs, found.inputs.to_json())
    run.write_model(found.model)
    for scored, file in ((found.tested, run.test), (found.held_out, run.abstain)):
        if scored is not None and scored.labels is not None:
            decided = scored.decided(found.decision, selects(found.model))
            weights = found.correction if scored is found.tested else None
            named: dict[str, list[Any]] = {}
            if scored is found.tested and test_set is not None and found.test_origin is not None:
                rows, names = found.test_origin.tolist(), test_set.reading.names
                named = {"row": rows, **({"name": [names[row] for row in rows]} if names else {})}
            for column, numbers in (("given_label", scored.labels), ("predicted_label", decided.logits.argmax(1))):
                named[column] = [found.class_names[label] if label >= 0 else None for label in numbers.tolist()]
            run.write_predictions(file, scored.labels, decided.logits, decided.scores, weights, named)
    curves = None
    if found.weighting is not None:
        save_weighting(run.weighting, found.weighting.net, origin_of(found))
        curves = found.weighting.curve_of_class.tolist()
    finding = found.finding and found.finding._asdict()
    run.write_classes(found.class_names, found.class_sizes, curves, finding, found.decision.to_json())
    if found.history != run.read_metrics():  # those of the kept epoch are as decided
        run.write_metrics(found.history)
        run.write_summary(Result(found.history).summary("finished", found.plan.train["epochs"]))
    called = called_in(train_set, found.origin)
    if test_set is not None and found.test_origin is not None:
        called += called_in(test_set, found.test_origin, "" if is_held_out(found.plan, test_set) else "test: ")
    run.write_table(run.samples, columns(found.samples, found.origin, train_set, called))
    if found.unseen is not None and test_set is not None and is_held_out(found.plan, test_set):
        assert test_set.origin is not None
        run.write_table(run.held_out, columns(found.unseen, test_set.origin, test_set, called))
    if found.votes is not None and found.labelers is not None:
        asked = next_votes(found.votes, found.labelers, found.labelers.posterior, MAX_ASKED_SAMPLES)
        tables = {run.votes: vote_table(found.votes, found.labelers), run.next_labels: asked}
        for file, table in tables.items():
            rows = found.origin[torch.from_numpy(table["sample"].to_numpy(copy=True))].tolist()
            run.write_table(file, {"row": rows, **{name: table[name].tolist() for name in table.columns[1:]}})
        known = labeler_table(found.votes, found.labelers).reset_index()
        run.write_table(run.labelers, {name: known[name].tolist() for name in known.columns})
    run.seal()


def called_in(dataset: Dataset, origin: Tensor, prefix: str = "") -> list[str]:
    """What each sample is called in the files of a run: its name, or its row in the user's data."""
    names = dataset.reading.names
    return [f"{prefix}{names[row] if names else row}" for row in origin.tolist()]


def columns(samples: Samples, origin: Tensor, train_set: Dataset, called_all: Sequence[str]) -> dict[str, list[Any]]:
    """What training found out about each sample, as the columns of samples.csv.

    ``row`` is the row of the sample in the user's data and labels are written by name, so that the file can be joined
    to them.

    Args:
        called_all: What the training samples are called, then the test samples.
    """
    class_names = train_set.class_names

    def called(labels: Tensor) -> list[str | None]:
        return [class_names[label] if label >= 0 else None for label in labels.tolist()]

    rows = origin.tolist()
    unknown = [None] * len(rows)
    judged = not bool(samples.quality.isnan().all())
    names = train_set.reading.names
    table: dict[str, list[Any]] = {
        "row": rows,
        **({"name": [names[row] for row in rows]} if names else {}),
        "given_label": called(samples.given),
        "suggested_label": called(samples.suggested) if judged else unknown,
        "label_quality": samples.quality.tolist(),
        "is_label_issue": samples.wrong.tolist() if judged else unknown,
        "weight": unknown if samples.weights is None else samples.weights.tolist(),
        "family": unknown if samples.family is None else samples.family.tolist(),
        "loss": samples.losses.tolist(),
    }
    if samples.outlier is not None and samples.near_duplicate_of is not None:
        others = samples.near_duplicate_of.tolist()
        table["is_outlier"] = samples.outlier.tolist()
        table["near_duplicate_of"] = [called_all[other] if other >= 0 else None for other in others]
    if train_set.candidates is not None:
        table["candidates"] = [
            SEPARATOR.join(class_names[number] for number in row) for row in train_set.candidates.tolist()
        ]
    if train_set.votes is not None:
        table["votes"] = train_set.votes.in_words()
    if train_set.true_labels is not None:
        table["true_label"] = called(train_set.true_labels)
    return table


class TrainedModel(NamedTuple):
    """The trained model of a finished run.

    Attributes:
        model: The network, on the CPU and in evaluation mode.
    """

    run: Run
    plan: Plan
    model: nn.Module
    class_names: tuple[str, ...]
    inputs: InputForm
    decision: Decision
    front: Front | None = None

    def meeting(self, shares: str | None) -> "TrainedModel":
        """The model for other class shares; None leaves them.

        Args:
            shares: A name, or the share of each class, such as "cat=0.9,dog=0.1".
        """
        if shares is None:
            return self
        wanted: Any = shares
        if "=" in shares:
            pairs = [part.rpartition("=") for part in shares.split(",")]
            wanted = {name.strip(): _number(share) for name, _, share in pairs}
        return self._replace(decision=self.decision.meeting(wanted, self.class_names))


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def open_run(path: Path) -> tuple[Run, Plan]:
    """A run folder and its plan. Nothing in the folder is changed: it may be in use."""
    run = Run(Path(path))
    if not run.recipe.is_file():
        raise DataError(f"{path}: there is no run here (no {run.recipe.name}); give the folder of a run")
    try:
        return run, from_toml(read_text(run.recipe, "recipe"), str(path))
    except RecipeError as error:
        raise RecipeError(f"{error}\nIf a newer version of reweigh made this run, update to read it.") from error


def not_ended(run: Run, missing: Path) -> DataError:
    """The error for a run that lacks a file which is written at its end."""
    return DataError(
        f"{run.path}: no {missing.name}, the run has not ended; continue it with: reweigh train --resume {run.path}"
    )


def load_model(path: Path, trust_code: bool = False) -> TrainedModel:
    run, plan = open_run(path)
    for file in (run.model, run.inputs, run.classes):
        if not file.is_file():
            raise not_ended(run, file)
    inputs = InputForm.from_json(read_text(run.inputs), str(run.inputs))
    class_names = names_of(run)
    assert plan.model is not None
    build = partial(builder(plan.model, trust_code), inputs.model_shape, len(class_names))
    state, _ = read(run.model)
    wrong = f"{run.model}: not the weights of the model in the recipe beside it"
    model = refilled(plan.method.name, state, build, wrong)
    front = open_front(plan.features, inputs.shape, inputs.encoding, trust_code)
    decision = Decision.from_json(read_json(run.classes).get("decision"), str(run.classes))
    return TrainedModel(run, plan, model.eval(), class_names, inputs, decision, front)


def names_of(run: Run) -> tuple[str, ...]:
    names = read_json(run.classes).get("names")
    if not isinstance(names, list) or not names:
        raise DataError(f"{run.classes}: no names of classes; is this file the one that the run wrote?")
    return tuple(map(str, names))


def origin_of(found: Fit) -> Origin:
    """Where a weighting function was learned: in this fit, or as recorded in the file that the plan names."""
    if given := found.plan.method.options.get("weighting"):
        return load_weighting(given)[1]
    assert found.weighting is not None
    centers = tuple(found.weighting.families.centers.tolist())
    loss = found.plan.own_loss or found.plan.loss.name
    return Origin(centers, loss, describe(found.plan), found.weighting.reads)


def describe(plan: Plan) -> str:
    """The data of a plan in words: digits, asymmetric (rate=0.4); own files by their name."""
    data = plan.source
    path = data.options.get("path")
    biases = [_described(bias) for bias in data.parts["bias"]]
    if data.parts["candidates"]:
        biases.append(f"candidates (q={data.parts['candidates'][0].options['q']})")
    if data.added["labeled"]:
        biases.append(f"{data.added['labeled']} labels")
    return ", ".join([Path(path).name if path else data.name, *biases])


def _described(part: Part) -> str:
    """The name of a part, and the options that have a value."""
    options = ", ".join(f"{name}={value}" for name, value in part.options.items() if value is not None)
    return f"{part.name} ({options})" if options else part.name
