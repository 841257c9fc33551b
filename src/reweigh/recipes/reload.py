"""From a run folder back to the trained model, and to how further data are read for it."""

import json
from pathlib import Path
from typing import NamedTuple

from torch import nn

from reweigh.errors import DataError, ModelError, RecipeError
from reweigh.recipes.biased_data import read_data
from reweigh.recipes.check import check
from reweigh.recipes.input_form import InputForm
from reweigh.recipes.read import read
from reweigh.recipes.recipe import Recipe
from reweigh.recipes.tables import method_named
from reweigh.training import Run


class Trained(NamedTuple):
    """What a finished run has left.

    Attributes:
        model: on the CPU, in eval mode.
        class_names: of logit 0, 1, ...
        form: of its inputs.
    """

    run: Run
    recipe: Recipe
    model: nn.Module
    class_names: tuple[str, ...]
    form: InputForm


def open_run(path: Path) -> tuple[Run, Recipe]:
    """A run folder and its recipe. Nothing in the folder is changed: it may be in use.

    Raises:
        DataError: there is no run.
        RecipeError: its recipe cannot be read here, such as that of a newer version.
    """
    run = Run(Path(path))
    if not run.recipe.is_file():
        raise DataError(f"{path}: there is no run here (no {run.recipe.name}); give the folder of a run")
    try:
        return run, check(read(run.path))
    except RecipeError as error:
        raise RecipeError(f"{error}\nIf a newer reweigh made this run, update to read it.") from error


def not_ended(run: Run, lacking: Path) -> DataError:
    """The error for a run that lacks a file which is written at its end."""
    return DataError(
        f"{run.path}: no {lacking.name}, the run has not ended; continue it with: reweigh train --resume {run.path}"
    )


def reload(path: Path) -> Trained:
    """The trained model of a run.

    A run of an early version does not tell the form of its inputs; then its data are read again.

    Raises:
        DataError: there is no run, or it has not ended.
        RecipeError: its recipe cannot be read here.
        ModelError: the stored weights are not those of the model in the recipe.
    """
    run, recipe = open_run(path)
    if not run.model.is_file():
        raise not_ended(run, run.model)
    if run.inputs.is_file() and run.classes.is_file():
        form = InputForm.from_json(run.inputs.read_text(encoding="utf-8"), str(run.inputs))
        class_names = tuple(json.loads(run.classes.read_text(encoding="utf-8"))["names"])
    else:
        train_set = read_data(recipe.data, recipe.train["seed"]).train
        form, class_names = InputForm.of(train_set), train_set.class_names
    model = as_trained(recipe.method.name, recipe.model.bind()(form.shape, len(class_names)))
    return Trained(run, recipe, _filled(model, run.model), class_names, form)


def as_trained(method: str, model: nn.Module) -> nn.Module:
    """A fresh model in the form in which the method trains it: itself, or within what the method puts around it."""
    return method_named(method).wraps(model)


def _filled(model: nn.Module, file: Path) -> nn.Module:
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        model.load_state_dict(load_file(file))
    except (SafetensorError, OSError, RuntimeError, ValueError) as error:
        first = " ".join(str(error).split())[:200]
        raise ModelError(f"{file}: not the weights of the model in the recipe beside it ({first})") from error
    return model.eval()
