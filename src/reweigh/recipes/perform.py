"""Carry out a recipe in a run folder, from the start or from where it was interrupted."""

from pathlib import Path
from typing import Any, NamedTuple

from torch import Tensor

from reweigh.data import Dataset
from reweigh.errors import DataError
from reweigh.families import by_size
from reweigh.files import write_whole
from reweigh.label_issues import judge
from reweigh.recipes.assemble import Assembly, assemble
from reweigh.recipes.check import check
from reweigh.recipes.input_form import InputForm
from reweigh.recipes.read import read
from reweigh.recipes.recipe import Recipe
from reweigh.recipes.schema import TrainOptions
from reweigh.recipes.write import to_toml
from reweigh.training import Observer, Recall, Result, Run, predict, train
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
    recall = Recall(splits.train, recipe.train["epochs"], recipe.train["looks"], device)
    result = train(
        method, splits.train, schedule, evaluate, run, observer, augment, generator, device, recall, **options
    )
    write_whole(run.inputs, InputForm.of(splits.train).to_json())
    run.write_model(method.model)
    run.write_test(splits.test.labels, predict(method.model, splits.test, device=device))
    weighting = method.weighting()
    families = None
    if isinstance(weighting, ClassAwareNet):
        save_weighting(run.weighting, weighting, origin_of(weighting, recipe, splits.train))
        families = by_size(splits.train.class_sizes, weighting.num_families).of_class
    sizes = splits.train.class_sizes.tolist()
    run.write_classes(splits.train.class_names, sizes, None if families is None else families.tolist())
    run.write_samples(samples(splits.train, recall, families))
    return Outcome(recipe, run, assembly, result)


def samples(train_set: Dataset, recall: Recall, families: Tensor | None) -> dict[str, list[Any]]:
    """What training made of each sample, as the columns of samples.csv; labels by number.

    Args:
        families: shape (num_classes,), of each class; None where the method knows none.
    """
    given = train_set.labels
    learned = (
        None if families is None else recall.weights
    )  # other weights, of self-paced learning, say, mean other things
    suggested, quality = judge(given, recall.predictions, learned)
    unknown = [None] * len(given)
    columns = {
        "index": list(range(len(given))),
        "given_label": given.tolist(),
        "suggested_label": suggested.tolist(),
        "label_quality": quality.tolist(),
        "is_label_issue": (suggested != given).tolist(),
        "weight": unknown if recall.weights is None else recall.weights.tolist(),
        "family": unknown if families is None else families[given].tolist(),
        "loss": recall.losses.tolist(),
    }
    return columns if train_set.true_labels is None else {**columns, "true_label": train_set.true_labels.tolist()}


def origin_of(weighting: ClassAwareNet, recipe: Recipe, train_set: Dataset) -> Origin:
    """Where a weighting function was learned: here, or where the file says that the recipe takes it from."""
    if given := recipe.method.options.get("weighting"):
        return load_weighting(given)[1]
    centers = by_size(train_set.class_sizes, weighting.num_families).centers
    return Origin(tuple(centers.tolist()), recipe.own_loss or recipe.loss.name, describe(recipe))


def describe(recipe: Recipe) -> str:
    """The data of a recipe in words: digits, asymmetric (rate=0.4); own files by their name."""
    path = recipe.data.options.get("path")
    biases = [
        f"{bias.name} ({', '.join(f'{k}={v}' for k, v in bias.options.items())})" for bias in recipe.data.parts["bias"]
    ]
    return ", ".join([Path(path).name if path else recipe.data.name, *biases])
