"""Carry out a recipe in a run folder, from the start or from where it was interrupted."""

from html import escape
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from reweigh.data import Dataset
from reweigh.errors import DataError
from reweigh.families import Families, by_size
from reweigh.files import write_whole
from reweigh.label_issues import judge, likeliest_candidates
from reweigh.recipes.assemble import Assembly, assemble
from reweigh.recipes.check import check
from reweigh.recipes.input_form import InputForm
from reweigh.recipes.read import read
from reweigh.recipes.recipe import Part, Recipe
from reweigh.recipes.schema import TrainOptions
from reweigh.recipes.scored import scored
from reweigh.recipes.write import to_toml
from reweigh.training import Observer, Recall, Result, Run, labels_of, train
from reweigh.weighting import Origin, load_weighting, num_curves, save_weighting


class Outcome(NamedTuple):
    """A finished run."""

    recipe: Recipe
    run: Run
    assembly: Assembly
    result: Result

    def _repr_html_(self) -> str:
        return f"<p>{escape(self.recipe.method.name)} on {escape(describe(self.recipe))}</p>{self.run._repr_html_()}"


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
    method, splits, schedule, evaluate, augment, generator, device, calibration = assembly
    options = {key: value for key, value in recipe.train.items() if key not in TrainOptions.model_fields}
    recall = Recall(splits.train, recipe.train["epochs"], recipe.train["looks"], device)
    result = train(
        method, splits.train, schedule, evaluate, run, observer, augment, generator, device, recall, **options
    )
    write_whole(run.inputs, InputForm.of(splits.train).to_json())
    run.write_model(method.model)
    for part, write in ((splits.test, run.write_test), (calibration, run.write_calibration)):
        if part is not None:
            logits, scores = scored(method.model, part, device=device)
            write(labels_of(part, logits), logits, scores)
    weighting = method.weighting()
    families = None
    sizes = splits.train.with_labels(counted_labels(splits.train, recall)).class_sizes
    if weighting is not None and (curves := num_curves(weighting)):
        found = by_size(sizes, curves)
        save_weighting(run.weighting, weighting, origin_of(found, recipe))
        families = found.curves(curves)[found.of_class]
    run.write_classes(splits.train.class_names, sizes.tolist(), None if families is None else families.tolist())
    run.write_samples(samples(splits.train, recall, families))
    return Outcome(recipe, run, assembly, result)


def samples(train_set: Dataset, recall: Recall, families: Tensor | None) -> dict[str, list[Any]]:
    """What training made of each sample, as the columns of samples.csv; labels by number, -1 where there is none.

    Args:
        families: shape (num_classes,), of each class; None where the method knows none.
    """
    given, candidates = given_labels(train_set, recall), train_set.candidates
    learned = (
        None if families is None else recall.weights
    )  # other weights, of self-paced learning, say, mean other things
    suggested, quality, wrong = judge(given, recall.predictions, learned)
    unknown = [None] * len(given)
    columns = {
        "index": list(range(len(given))),
        "given_label": given.tolist(),
        "suggested_label": suggested.tolist() if recall.looks else unknown,
        "label_quality": quality.tolist() if recall.looks else unknown,
        "is_label_issue": wrong.tolist() if recall.looks else unknown,
        "weight": unknown if recall.weights is None else recall.weights.tolist(),
        "family": unknown
        if families is None
        else [int(families[label]) if label >= 0 else None for label in given.tolist()],
        "loss": recall.losses.tolist(),
    }
    if candidates is not None:
        sets = [" ".join(str(place) for place, there in enumerate(row) if there) for row in candidates.tolist()]
        columns["candidates"] = sets
    return columns if train_set.true_labels is None else {**columns, "true_label": train_set.true_labels.tolist()}


def given_labels(train_set: Dataset, recall: Recall) -> Tensor:
    """The given labels, shape (N,); of several candidates the likeliest, so that it is wrong if another class is."""
    if train_set.candidates is None:
        return train_set.labels
    return likeliest_candidates(train_set.candidates, recall.predictions)


def counted_labels(train_set: Dataset, recall: Recall) -> Tensor:
    """The labels that class sizes count, shape (N,): the given ones, and for samples without one what is predicted."""
    given = given_labels(train_set, recall)
    if recall.looks == 0 or bool(train_set.labeled.all()):
        return given
    return torch.where(given >= 0, given, recall.predictions.labels())


def origin_of(families: Families, recipe: Recipe) -> Origin:
    """Where a weighting function was learned: here, or where the file says that the recipe takes it from."""
    if given := recipe.method.options.get("weighting"):
        return load_weighting(given)[1]
    return Origin(tuple(families.centers.tolist()), recipe.own_loss or recipe.loss.name, describe(recipe))


def describe(recipe: Recipe) -> str:
    """The data of a recipe in words: digits, asymmetric (rate=0.4); own files by their name."""
    path = recipe.data.options.get("path")
    biases = [_named(bias) for bias in recipe.data.parts["bias"]]
    if recipe.data.parts["candidates"]:
        biases.append(f"candidates (q={recipe.data.parts['candidates'][0].options['q']})")
    if recipe.data.added["labeled"]:
        biases.append(f"{recipe.data.added['labeled']} labels")
    return ", ".join([Path(path).name if path else recipe.data.name, *biases])


def _named(part: Part) -> str:
    """The name of a part, and the options that were given or have a value."""
    options = ", ".join(f"{name}={value}" for name, value in part.options.items() if value is not None)
    return f"{part.name} ({options})" if options else part.name
