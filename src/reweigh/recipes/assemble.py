"""From a checked recipe to the objects that train; the only place that sees both."""

import logging
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Generator, Tensor, nn

from reweigh.core.method import Method
from reweigh.data import Dataset, Splits, with_label
from reweigh.errors import RecipeError
from reweigh.losses.bound import bound
from reweigh.methods import build
from reweigh.methods.setup import Setup
from reweigh.recipes.biased_data import data_root, read_calibrated, read_clean
from reweigh.recipes.recipe import Recipe
from reweigh.recipes.scored import judged_by
from reweigh.recipes.start import start_from
from reweigh.recipes.tables import method_named
from reweigh.training import seed_all
from reweigh.training.schedules import Schedule
from reweigh.transforms import Compose

logger = logging.getLogger(__name__)


class Assembly(NamedTuple):
    """All that ``reweigh.training.train`` is called with, but its options; and samples that are not trained on."""

    method: Method
    splits: Splits
    schedule: Schedule
    evaluate: Callable[[nn.Module], dict[str, float]]
    augment: Callable[[Tensor, Generator], Tensor] | None
    generator: Generator
    device: torch.device
    calibration: Dataset | None = None


def assemble(recipe: Recipe) -> Assembly:
    """Read the data, bias it, and build model, optimizer and method around it.

    Seeds the global generators, and sets torch's number of threads if the recipe does.

    Raises:
        DataError: the data cannot be read or used.
        ModelError: the model does not fit the data, or not the weights that it should start from.
        RecipeError: the device is not there.
    """
    seed = recipe.train["seed"]
    if recipe.train["num_threads"]:
        torch.set_num_threads(recipe.train["num_threads"])
    device = find_device(recipe.train["device"])
    splits, calibration = read_calibrated(recipe.data, seed)
    splits = splits._replace(train=usable(splits.train, recipe.method.name))
    seed_all(seed)
    model = recipe.model.bind()(splits.train.shape, splits.train.num_classes).to(device)
    if recipe.model.added["start"] is not None:
        start_from(model, recipe.model.added["start"])
    optimizer = recipe.optimizer.bind()(model.parameters())
    schedule = recipe.optimizer.parts["schedule"][0].bind()(optimizer, recipe.train["epochs"])
    transforms = [part.bind()() for part in recipe.data.parts["augment"]]
    augment = Compose(transforms) if transforms else None
    generator = Generator().manual_seed(seed)
    meta_set = recipe.meta_set.bind()()
    setup = Setup(
        model=model,
        optimizer=optimizer,
        train_set=splits.train,
        meta_set=meta_set,
        clean_set=read_clean(meta_set, splits.train, data_root(recipe.data.added["root"])),
        loss=bound(recipe.loss.bind(), splits.train.class_sizes),
        augment=augment,
        generator=generator,
        device=device,
    )
    method = build(recipe.method.name, setup, **recipe.method.options)
    evaluate = judged_by(splits.test, splits.train.class_sizes, device, method.abstains)
    return Assembly(method, splits, schedule, evaluate, augment, generator, device, calibration)


def usable(train: Dataset, method: str) -> Dataset:
    """The training set without samples that have no label, unless the method learns from these too."""
    if train.candidates is not None and not method_named(method).candidates:
        logger.info("method %r takes all candidates of a sample alike; 'proden' finds the right one", method)
    if method_named(method).unlabeled or bool(train.labeled.all()):
        return train
    left = with_label(train)
    logger.info("%d of %d samples have a label; method %r trains on these alone", len(left), len(train), method)
    return left


def find_device(name: str, what: str = "train.device") -> torch.device:
    """The device of that name, or for "auto" the best there is.

    Args:
        what: how the message calls the option.

    Raises:
        RecipeError: it is not there.
    """
    there = ["cpu"]
    if torch.cuda.is_available():
        there += ["cuda", *(f"cuda:{place}" for place in range(torch.cuda.device_count()))]
    if torch.backends.mps.is_available():
        there.append("mps")
    if name == "auto":
        return torch.device("cuda" if "cuda" in there else "mps" if "mps" in there else "cpu")
    if name not in there:
        raise RecipeError(f"{what}: got {name!r}, which is not there; allowed here: auto, {', '.join(there)}")
    return torch.device(name)
