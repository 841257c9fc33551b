"""Read a run folder, and the data it was trained on if they still exist."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from reweigh.data import Dataset
from reweigh.data.inputs import Inputs, Rows
from reweigh.data.splits import at_origin
from reweigh.errors import DataError, ReweighError
from reweigh.files import read_json, read_text
from reweigh.fit.decision import Decision
from reweigh.fit.fitting import usable
from reweigh.fit.run_folder import not_ended, open_run
from reweigh.fit.source import read_training_set
from reweigh.issues.verdict import Finding
from reweigh.plan.plan import Plan
from reweigh.runs.tables import Labeler, Samples, Tested, read_labelers, read_samples, read_tested
from reweigh.runs.words import UNKNOWN
from reweigh.training import Result, Run
from reweigh.training.run import status
from reweigh.weighting import Origin, WeightNet, load_weighting

MIN_QUALITY = 1e-6  # lowest quality that counts; below it, the doubt stays the same


@dataclass(frozen=True)
class Classes:
    """The classes of the training data.

    Attributes:
        sizes: Training samples of each class by given label; empty if unknown.
        families: Family of each class; empty if unknown, or if the method has none.
        finding: How many labels are wrong in each class; None if it was not estimated.
    """

    names: tuple[str, ...]
    sizes: tuple[int, ...] = ()
    families: tuple[int, ...] = ()
    finding: Finding | None = None

    def name(self, label: int) -> str:
        """The name of a label; its number if it has no name, a dash if it is unknown."""
        if label < 0:
            return UNKNOWN
        return self.names[label] if label < len(self.names) else f"class {label}"


def _joined(first: Inputs, second: Inputs) -> Inputs | None:
    """Rows in memory, or rows that are fetched from the same place, as one; None for others."""
    if isinstance(first, torch.Tensor) and isinstance(second, torch.Tensor):
        return torch.cat([first, second])
    if isinstance(first, Rows) and isinstance(second, Rows) and first.inputs is second.inputs:
        return Rows(first.inputs, torch.cat([first.index, second.index]))
    return None


@dataclass(frozen=True)
class Account:
    """Everything that a run folder holds.

    Attributes:
        name: Name of the run, unique among those that are reported together.
        status: See ``reweigh.training.run``.
        history: Numbers of each epoch; NaN for one that was not finite.
        dataset: The training set, read again.
        unseen: Samples of the same data that were held out for testing, read again; None if there are none.
        held_out: What the final model makes of these; None if they were not judged.
        no_data: Why there is no dataset.
        decision: How logits become probabilities; None if the run does not say so, or as an older version did.
    """

    path: Path
    name: str
    recipe: Plan
    recipe_text: str
    status: str
    epochs: int
    history: Sequence[dict[str, float]]
    classes: Classes
    samples: Samples | None = None
    tested: Tested | None = None
    net: WeightNet | None = None
    origin: Origin = field(default_factory=Origin)
    dataset: Dataset | None = None
    unseen: Dataset | None = None
    held_out: Samples | None = None
    no_data: str = ""
    labelers: Sequence[Labeler] = ()
    decision: Decision | None = None

    def with_held_out(self) -> "tuple[Account, int]":
        """All judged samples of the data as one, those that were held out last, and the number of these.

        0 if they cannot be shown beside the others: they come from another source, or have changed.
        """
        held_out, dataset, unseen = self.held_out, self.dataset, self.unseen
        if self.samples is None or held_out is None or dataset is None or unseen is None:
            return self, 0
        unseen = at_origin(unseen, torch.from_numpy(held_out.row))
        inputs = _joined(dataset.inputs, unseen.inputs)
        if inputs is None or not np.array_equal(unseen.labels.numpy(), held_out.given):
            return self, 0
        joined = Dataset(
            inputs,
            torch.cat([dataset.labels, unseen.labels]),
            dataset.class_names,
            reading=dataset.reading,
            origin=torch.cat([dataset.source_rows, unseen.source_rows]),
        )
        return replace(self, samples=self.samples.with_more(held_out), dataset=joined), len(held_out)

    @property
    def losses(self) -> np.ndarray:
        """The known and finite losses of the training samples."""
        known = None if self.samples is None else self.samples.loss
        return np.empty(0) if known is None else known[np.isfinite(known)]

    @property
    def read(self) -> np.ndarray:
        """The inputs of the weighting function for the training samples that are known: the loss, or the doubt."""
        if self.origin.reads != "doubt":
            return self.losses
        known = None if self.samples is None else self.samples.quality
        return np.empty(0) if known is None else -np.log(np.clip(known[np.isfinite(known)], MIN_QUALITY, 1))

    @property
    def method(self) -> str:
        return self.recipe.method.name

    @property
    def seconds(self) -> float:
        """Training time, before and after interruptions."""
        return sum(line.get("seconds", math.nan) for line in self.history)

    @property
    def tests(self) -> list[str]:
        return list(dict.fromkeys(key for line in self.history for key in line if key.startswith("test_")))

    @property
    def kept(self) -> dict[str, float]:
        """The epoch whose model is saved; empty before the first."""
        return Result(list(self.history)).kept if self.history else {}

    @property
    def kept_name(self) -> str:
        return Result(list(self.history)).kept_name if self.history else "last"

    @property
    def best(self) -> dict[str, float]:
        """The epoch with the highest main test metric; chosen on the test set, so it is optimistic."""
        judged = [line for line in self.history if self.tests and math.isfinite(line.get(self.tests[0], math.nan))]
        return Result(judged).best if judged else {}


MAX_NAME_LETTERS = 60  # characters of a class name


def read_accounts(paths: Sequence[Path]) -> list[Account]:
    """Everything that each run holds; a run given twice is read once."""
    runs = list({path.resolve(): path for path in paths}.values())
    short = [path.resolve().name for path in runs]
    known: list[Known] = []
    found = []
    for path, name in zip(runs, short, strict=True):
        each = read_account(path, name if short.count(name) == 1 else str(path), known)
        # names of classes are cut because each is repeated in many rows of the page
        cut = tuple(
            name if len(name) <= MAX_NAME_LETTERS else name[: MAX_NAME_LETTERS - 1] + "…" for name in each.classes.names
        )
        found.append(replace(each, classes=replace(each.classes, names=cut)))
    return found


def read_account(path: Path, name: str, known: "list[Known] | None" = None, decoded: bool = False) -> Account:
    """Everything in one run folder. Nothing there is changed: it may be in use.

    Args:
        known: Data that were read before, so that runs on the same data share them; those read now are added.
        decoded: Whether to decode all images now; otherwise each when it is looked at.
    """
    run, recipe = open_run(path)
    classes = read_classes(run)
    samples, tested = read_samples(run.samples, classes.names), read_tested(run.test)
    data = Known(None, None)
    if samples is not None:  # otherwise nothing needs the data
        known = [] if known is None else known
        data = _samples_of(recipe, samples, known, decoded)
        if data.dataset is None and not decoded:  # an image that cannot be decoded was left out when it was
            data = _samples_of(recipe, samples, known, decoded=True)
    net, origin = load_weighting(run.weighting) if run.weighting.is_file() else (None, Origin())
    return Account(
        path=path,
        name=name,
        recipe=recipe,
        recipe_text=read_text(run.recipe, "recipe"),
        status=status(run),
        epochs=recipe.train["epochs"],
        history=_read_history(run),
        classes=classes,
        samples=samples,
        tested=tested,
        net=net,
        origin=origin,
        dataset=data.dataset,
        unseen=data.unseen,
        held_out=read_samples(run.held_out, classes.names),
        no_data=data.reason,
        labelers=read_labelers(run.labelers),
        decision=_read_decision(run, len(classes.names)),
    )


class Known(NamedTuple):
    """Data that were read: the training set and what was held out of the same data; or why there are none."""

    wanted: Any
    dataset: Dataset | None
    unseen: Dataset | None = None
    reason: str = ""


def _samples_of(recipe: Plan, samples: Samples, known: list[Known], decoded: bool) -> Known:
    """The samples that the run was trained on, in its order."""
    found = _read_data_once(recipe, known, decoded)
    if found.dataset is None:
        return found
    dataset = at_origin(usable(found.dataset, recipe.method.name), torch.from_numpy(samples.row))
    if not _same(dataset, samples):
        return Known(found.wanted, None, reason="the data are no longer those of the run")
    return found._replace(dataset=dataset)


def _read_data_once(recipe: Plan, known: list[Known], decoded: bool) -> Known:
    source = recipe.source
    if not decoded and "memory_gb" in source.options:
        source = replace(source, options={**source.options, "memory_gb": 0.0})
    wanted = (source, recipe.train["seed"])
    for each in known:
        if each.wanted == wanted:
            return each
    try:
        train, test = read_training_set(*wanted)
        found = Known(wanted, train, None if test.origin is None else test)  # a test set of its own has its own rows
    except (ReweighError, OSError, ImportError) as error:
        found = Known(wanted, None, reason=str(error).splitlines()[0])
    known.append(found)
    return found


def _same(dataset: Dataset, samples: Samples) -> bool:
    """Whether these are the samples that the run was trained on, judging by their labels and names."""
    names = dataset.reading.names and [dataset.reading.names[row] for row in dataset.source_rows.tolist()]
    if len(dataset) != len(samples) or (names and samples.name and names != list(samples.name)):
        return False
    if dataset.candidates is not None:
        return bool(dataset.candidates.contain(torch.from_numpy(samples.given)).all())
    return np.array_equal(dataset.labels.numpy(), samples.given)


def read_classes(run: Run) -> Classes:
    """The classes as the run stored them; none if it has not ended."""
    if not run.classes.is_file():
        return Classes(())
    stored = read_json(run.classes)
    try:
        names, sizes, families = (stored[key] for key in ("names", "sizes", "families"))
        finding = Finding(**stored["finding"]) if stored["finding"] else None
        return Classes(tuple(map(str, names)), tuple(map(int, sizes)), tuple(map(int, families or ())), finding)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise DataError(f"{run.classes}: not the classes of a run ({type(error).__name__}: {error})") from error


def _read_decision(run: Run, classes: int) -> Decision | None:
    try:
        found = Decision.from_json(read_json(run.classes).get("decision"), str(run.classes)) if classes else None
        parts = found and (found.given, found.contained, found.estimated, found.shares or found.given)
        return found if parts and {len(each) for each in parts} == {classes} else None
    except (DataError, TypeError):
        return None


def with_verdicts(path: Path) -> tuple[Samples, int]:
    """All samples of the data of a run that have a verdict, those that were held out last, and the number of these.

    The data are not read.
    """
    run, _ = open_run(path)
    names = read_classes(run).names
    samples, unseen = read_samples(run.samples, names), read_samples(run.held_out, names)
    if samples is None:
        raise not_ended(run, run.samples)
    if samples.issue is None or samples.suggested is None or samples.quality is None:
        raise DataError(f"{run.samples}: holds no suggested labels; train again to get them (train.looks above 0)")
    return (samples, 0) if unseen is None else (samples.with_more(unseen), len(unseen))


def _read_history(run: Run) -> list[dict[str, float]]:
    """The numbers of each epoch; null stands for a number that was not finite and becomes NaN."""
    try:
        lines = run.read_metrics()
        return [{key: math.nan if value is None else float(value) for key, value in line.items()} for line in lines]
    except (ValueError, TypeError, AttributeError, OverflowError) as error:
        raise DataError(f"{run.metrics}: not the metrics of a run, one JSON object per line ({error})") from error
