"""Carry out a recipe in a run folder, from the start or from where it was interrupted."""

from pathlib import Path
from typing import NamedTuple

from reweigh.data import Dataset
from reweigh.errors import DataError
from reweigh.families import by_size
from reweigh.recipes.assemble import Assembly, assemble
from reweigh.recipes.check import check
from reweigh.recipes.read import read
from reweigh.recipes.recipe import Recipe
from reweigh.recipes.schema import TrainOptions
from reweigh.recipes.write import to_toml
from reweigh.training import Observer, Result, Run, train
from reweigh.weighting import ClassAwareNet, Origin, load_weighting, save_weighting


class Outcome(NamedTuple):
    """A finished run."""

    recipe: Recipe
    run: Run
    assembly: Assembly
    result: Result


def begin(recipe: Recipe, path: Path, observer: Observer | None = None, overwrite: bool = False) -> Outcome:
    """Train in a new run folder.

    Args:
        overwrite: replace the run that is there.

    Raises:
        DataError: there is a run at ``path`` already.
    """
    assembly = assemble(recipe)  # before the folder: a recipe that cannot be built leaves an older run alone
    run = Run.create(path, to_toml(recipe), overwrite)
    return _train(recipe, run, assembly, observer)


def resume(path: Path, observer: Observer | None = None, expected: Recipe | None = None) -> Outcome:
    """Continue the run in a folder to its end; one that has ended stays as it is.

    Args:
        expected: refuse to continue a run of another recipe.

    Raises:
        DataError: there is no run, or one of another recipe.
    """
    run = Run.open(path)
    recipe = check(read(run.path))
    if expected is not None and recipe != expected:
        raise DataError(f"{path}: the run there has another recipe; choose another folder, or replace it (--overwrite)")
    return _train(recipe, run, assemble(recipe), observer)


def _train(recipe: Recipe, run: Run, assembly: Assembly, observer: Observer | None) -> Outcome:
    method, splits, schedule, evaluate, augment, generator, device = assembly
    options = {key: value for key, value in recipe.train.items() if key not in TrainOptions.model_fields}
    result = train(method, splits.train, schedule, evaluate, run, observer, augment, generator, device, **options)
    run.write_model(method.model)
    weights = method.sample_weights()
    if weights is not None:
        run.write_samples(splits.train.labels, weights, splits.train.true_labels)
    weighting = method.weighting()
    if isinstance(weighting, ClassAwareNet):
        save_weighting(run.weighting, weighting, origin_of(weighting, recipe, splits.train))
    return Outcome(recipe, run, assembly, result)


def origin_of(weighting: ClassAwareNet, recipe: Recipe, train_set: Dataset) -> Origin:
    """Where a weighting function was learned: here, or where the file says that the recipe takes it from."""
    if given := recipe.method.options.get("weighting"):
        return load_weighting(given)[1]
    centers = by_size(train_set.class_sizes, weighting.num_families).centers
    return Origin(tuple(centers.tolist()), recipe.loss.name, describe(recipe))


def describe(recipe: Recipe) -> str:
    """The data of a recipe in words: digits, asymmetric (rate=0.4)."""
    biases = [
        f"{bias.name} ({', '.join(f'{k}={v}' for k, v in bias.options.items())})" for bias in recipe.data.parts["bias"]
    ]
    return ", ".join([recipe.data.name, *biases])
