"""Read a run folder, and the data it was trained on if they still exist."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from reweigh.data import Dataset
from reweigh.data.splits import at_origin
from reweigh.errors import DataError, ReweighError
from reweigh.files import read_json, read_text
from reweigh.fit.decision import Decision
from reweigh.fit.fitting import usable
from reweigh.fit.run_folder import not_ended, open_run
from reweigh.fit.source import read_training_set
from reweigh.issues.verdict import Finding
from reweigh.plan.plan import Plan
from reweigh.runs.account import Account, Classes
from reweigh.runs.tables import Samples, read_labelers, read_samples, read_tested
from reweigh.training import Run
from reweigh.training.run import status
from reweigh.weighting import Origin, load_weighting

LETTERS = 60  # characters of a class name


def read_accounts(paths: Sequence[Path]) -> list[Account]:
    """Everything that each run holds; a run given twice is read once.

    Raises:
        DataError: There is no run at a path, or a file of it is broken.
        RecipeError: A recipe cannot be read here, such as that of a newer version.
    """
    runs = list({path.resolve(): path for path in paths}.values())
    short = [path.resolve().name for path in runs]
    names = [name if short.count(name) == 1 else str(path) for name, path in zip(short, runs, strict=True)]
    known: list[Known] = []
    accounts = [read_account(path, name, known) for path, name in zip(runs, names, strict=True)]
    return [replace(each, classes=replace(each.classes, names=_short(each.classes.names))) for each in accounts]


def read_account(path: Path, name: str, known: "list[Known] | None" = None, decoded: bool = False) -> Account:
    """Everything in one run folder. Nothing there is changed: it may be in use.

    Args:
        known: Data that were read before, so that runs on the same data share them; those read now are added.
        decoded: Whether to decode all images now; otherwise each when it is looked at.

    Raises:
        DataError, RecipeError: See ``read_accounts``.
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
    if len(dataset) != len(samples):
        return False
    names = dataset.reading.names
    if names and samples.name and [names[row] for row in dataset.source_rows.tolist()] != list(samples.name):
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


def _short(names: Sequence[str]) -> tuple[str, ...]:
    """Class names, cut because each is repeated in many rows of the page."""
    return tuple(name if len(name) <= LETTERS else name[: LETTERS - 1] + "…" for name in names)


def _read_history(run: Run) -> list[dict[str, float]]:
    """The numbers of each epoch; null stands for a number that was not finite and becomes NaN."""
    try:
        lines = run.read_metrics()
        return [{key: math.nan if value is None else float(value) for key, value in line.items()} for line in lines]
    except (ValueError, TypeError, AttributeError, OverflowError) as error:
        raise DataError(f"{run.metrics}: not the metrics of a run, one JSON object per line ({error})") from error
