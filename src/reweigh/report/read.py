"""Read a run folder, and the data it was trained on as far as they are still there."""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from reweigh.data import Dataset
from reweigh.errors import DataError, ReweighError
from reweigh.families import by_size
from reweigh.recipes.assemble import usable
from reweigh.recipes.biased_data import read_calibrated
from reweigh.recipes.recipe import Recipe
from reweigh.recipes.reload import open_run
from reweigh.report.account import Account, Classes
from reweigh.report.tables import Samples, Tested, read_samples, read_tested
from reweigh.training import Run
from reweigh.weighting import Origin, WeightNet, load_weighting

LETTERS = 60  # of a class name at most


def read_accounts(paths: Sequence[Path]) -> list[Account]:
    """What each run tells; a run given twice is told once.

    Raises:
        DataError: there is no run at a path, or a file of it is broken.
        RecipeError: a recipe cannot be read here, such as that of a newer version.
    """
    runs = list({path.resolve(): path for path in paths}.values())
    short = [path.resolve().name for path in runs]
    names = [name if short.count(name) == 1 else str(path) for name, path in zip(short, runs, strict=True)]
    known: list[tuple[Any, Dataset | None, str]] = []
    return [read_account(path, name, known) for path, name in zip(runs, names, strict=True)]


def read_account(path: Path, name: str, known: list[tuple[Any, Dataset | None, str]] | None = None) -> Account:
    """What one run tells. Nothing in the folder is changed: it may be in use.

    Args:
        known: data that were read before, and those read now; runs on the same data share them.

    Raises:
        DataError, RecipeError: as for ``read_accounts``.
    """
    run, recipe = open_run(path)
    summary = _read_json(run.summary)
    samples, tested = read_samples(run.samples), read_tested(run.test)
    stored = _read_json(run.classes)
    dataset, no_data = None, ""
    if samples is not None or not stored:  # otherwise nothing asks for the data
        dataset, no_data = _read_data_once(recipe, [] if known is None else known)
    if dataset is not None:
        dataset = usable(dataset, recipe.method.name)
    if dataset is not None and samples is not None and not _same(dataset, samples):
        dataset, no_data = None, "the data at their place are no longer those of the run"
    net, origin = load_weighting(run.weighting) if run.weighting.is_file() else (None, Origin())
    return Account(
        path=path,
        name=name,
        recipe=recipe,
        recipe_text=run.recipe.read_text(encoding="utf-8"),
        status=str(summary.get("status", "unknown")),
        epochs=int(summary.get("epochs", recipe.train["epochs"])),
        history=_read_history(run),
        classes=_classes(stored, samples, tested, dataset, net),
        samples=samples,
        tested=tested,
        net=net,
        origin=origin,
        dataset=dataset,
        no_data=no_data,
    )


def _read_data_once(recipe: Recipe, known: list[tuple[Any, Dataset | None, str]]) -> tuple[Dataset | None, str]:
    """The training set, or why there is none."""
    wanted = (recipe.data, recipe.train["seed"])
    for found, dataset, reason in known:
        if found == wanted:
            return dataset, reason
    try:
        dataset, reason = read_calibrated(*wanted)[0].train, ""
    except (ReweighError, OSError, ImportError) as error:
        dataset, reason = None, str(error).splitlines()[0]
    known.append((wanted, dataset, reason))
    return dataset, reason


def _same(dataset: Dataset, samples: Samples) -> bool:
    """Are these the samples that the run was trained on, as far as labels tell?"""
    inside = (samples.index >= 0) & (samples.index < len(dataset))
    if not inside.all():
        return False
    if dataset.candidates is not None:
        return bool(dataset.candidates.numpy()[samples.index, samples.given].all())
    return np.array_equal(dataset.labels.numpy()[samples.index], samples.given)


def _classes(
    stored: dict[str, Any],
    samples: Samples | None,
    tested: Tested | None,
    dataset: Dataset | None,
    net: WeightNet | None,
) -> Classes:
    """As the run stored them, or else from the data, or else from the numbers that occur."""
    if "names" in stored:
        sizes, families = stored.get("sizes") or (), stored.get("families") or ()
        return Classes(_short(stored["names"]), tuple(sizes), tuple(families))
    if dataset is not None:
        sizes = dataset.class_sizes
        families = () if net is None else by_size(sizes, net.num_families).of_class.tolist()
        return Classes(_short(dataset.class_names), tuple(sizes.tolist()), tuple(families))
    labels = [*([] if samples is None else [samples.given]), *([] if tested is None else [tested.label])]
    most = max((int(each.max()) for each in labels), default=-1)
    sizes = () if samples is None else np.bincount(samples.given[samples.labeled], minlength=most + 1)
    families = by_size(torch.tensor(sizes), net.num_families).of_class.tolist() if net and len(sizes) else ()
    return Classes(tuple(f"class {label}" for label in range(most + 1)), tuple(map(int, sizes)), tuple(families))


def _short(names: Sequence[Any]) -> tuple[str, ...]:
    """Names of classes; a whole text in the place of a name would be repeated in every row of the page."""
    texts = map(str, names)
    return tuple(text if len(text) <= LETTERS else text[: LETTERS - 1] + "…" for text in texts)


def _read_history(run: Run) -> list[dict[str, float]]:
    """The numbers of each epoch; null, a number that was not finite, is NaN."""
    try:
        lines = run.read_metrics()
        return [{key: math.nan if value is None else float(value) for key, value in line.items()} for line in lines]
    except (ValueError, TypeError, AttributeError) as error:
        raise DataError(f"{run.metrics}: not the numbers of a run, a JSON object a line ({error})") from error


def _read_json(path: Path) -> dict[str, Any]:
    """The object in a file; empty if there is no file."""
    if not path.is_file():
        return {}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise DataError(f"{path}: not a JSON file ({error})") from error
    if not isinstance(found, dict):
        raise DataError(f"{path}: holds {type(found).__name__}, should be a JSON object; is it the run's?")
    return found
