"""Train in one process and in several, in double precision, and print how far the results are apart.

    python training.py FOLDER PROCESSES [METHOD ...]

Prints JSON: ``methods``, the largest difference of each method's weights and verdicts; ``resumed``, that of a training
that was stopped in the middle three times and continued by another number of processes; ``places``, where it was
stopped; ``fetched``, how many samples one process of several and a single process read on demand; ``features``,
whether features are the same, and of how many images one process of several and a single process computed them.
"""

import json
import logging
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from launch import several
from torch import Tensor, distributed, nn

from reweigh.bias import CANDIDATES
from reweigh.compare.grid import plan
from reweigh.data import Dataset, few_labels, with_candidates
from reweigh.data.inputs import Fetched, Inputs
from reweigh.features import Network
from reweigh.fit import fit
from reweigh.fit.front import Front
from reweigh.methods import METHODS
from reweigh.training import Interrupted, Observer, Run, Silent, processes

EPOCHS = 4
IMAGES = torch.arange(7 * 3 * 4 * 4, dtype=torch.uint8).view(7, 3, 4, 4)
OPTIONS = {
    "two-looks": ["train.epochs=10"],
    "erm": ["train.judge=0.2", "train.abstain=0.1"],
    "elr": ["train.scoring=out-of-fold", "train.epochs=2"],
}


class Double(nn.Module):
    """Numbers in double precision."""

    def forward(self, inputs: Tensor) -> Tensor:
        return inputs.double()


def images() -> Dataset:
    """Stripes from side to side, stripes from top to bottom, and none, in noise."""
    generator = torch.Generator().manual_seed(0)
    labels = torch.arange(61) % 4 % 3
    stripes = torch.tensor([28, 28, 228, 228] * 2)
    patterns = torch.stack([stripes.view(8, 1).expand(8, 8), stripes.expand(8, 8), torch.full((8, 8), 20)])
    noise = torch.randint(-20, 20, (len(labels), 8, 8), generator=generator)
    return Dataset((patterns[labels] + noise).byte().unsqueeze(1), labels, ("a", "b", "c"))


def data(name: str) -> Dataset:
    found = images()
    if METHODS[name].unlabeled:
        return few_labels(found, 30, seed=0)
    if METHODS[name].candidates:
        return with_candidates(found, CANDIDATES["independent"](found.labels, 3, 0, q=0.3))
    return found.with_labels(torch.where(torch.arange(61) % 7 == 0, (found.labels + 1) % 3, found.labels))


def network(shape: tuple[int, ...], num_classes: int) -> nn.Module:
    pooled = nn.Conv2d(1, 6, 3), nn.BatchNorm2d(6), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten()
    dense = nn.Dropout(0.1), nn.Linear(24, 8), nn.BatchNorm1d(8), nn.Tanh(), nn.Linear(8, 3)
    return nn.Sequential(Double(), *pooled, *dense).double()


def trained(name: str, run: Callable[[], Run] | None = None, observer: Observer | None = None) -> dict[str, Tensor]:
    """What a method comes to: its weights, and what it made of the samples.

    Args:
        name: the method, and options of it if need be: cmw-net:engine=difference:scope=last-layer
    """
    name, *given = name.split(":")
    changes = [f"train.epochs={EPOCHS}", "train.warmup_epochs=1", "train.batch_size=13", "meta_set.per_class=3"]
    (recipe,) = plan("demo", [*changes, "method.every=2", *OPTIONS.get(name, [])], [name], seeds=1).values()
    options: dict[str, Any] = dict(option.split("=") for option in given)
    if "settled" in recipe.method.options:  # soft labels from the first epoch on
        options["settled"] = 0.0
    recipe = replace(recipe, method=replace(recipe.method, options={**recipe.method.options, **options}))
    samples, tested = data(name), images().subset(torch.arange(7))
    if name == "elr":  # as if read from files
        samples = replace(samples, inputs=Stored(samples.inputs))
    found = fit(samples, recipe, build=network, test_set=tested, run=run, observer=observer)
    state = {key: value.clone() for key, value in found.model.state_dict().items()}
    return {**state, "quality": found.samples.quality.nan_to_num(), "losses": found.samples.losses.nan_to_num()}


def apart(some: dict[str, Tensor], others: dict[str, Tensor]) -> float:
    """The largest difference."""
    assert some.keys() == others.keys()
    return max(float((some[key].double() - others[key].double()).abs().max()) for key in some)


class Stored(Fetched):
    """Inputs that are fetched, not held; ``fetched`` counts the samples."""

    fetched = 0

    def __init__(self, inputs: Inputs):
        self.inputs = inputs

    def __len__(self) -> int:
        return len(self.inputs)

    def __getitem__(self, index: Tensor, /) -> Tensor:
        found = self.inputs[index]
        Stored.fetched += len(found)
        return found


class Stopping(Silent):
    """Asks the last process to stop after so many steps."""

    def __init__(self, after: int) -> None:
        self.left = after

    def start(self, epochs: int, steps: int, done: int) -> None:
        self.left -= done

    def step(self, epoch: int, step: int, means: object) -> None:
        self.left -= 1
        if self.left == 0 and (not processes.several() or distributed.get_rank() == distributed.get_world_size() - 1):
            os.kill(os.getpid(), signal.SIGTERM)


def stopped(folder: Path, after: int) -> None:
    """Begin or continue a training, and stop it after so many steps in all."""
    path = folder / "run"

    def run() -> Run:
        return Run.open(path) if (path / "recipe.toml").exists() else Run.create(path, "recipe = 1")

    try:
        state = trained("cmw-net-sl", run, Stopping(after))
    except Interrupted as error:
        place = str(error).split(";")[0]
        if processes.is_first():
            with open(folder / "places.txt", "a") as places:
                places.write(place + "\n")
    else:
        torch.save(state, folder / "resumed.pt")


def features_of(images: torch.Tensor) -> tuple[torch.Tensor, int]:
    """Features by a frozen network, and how many images this process computed them of."""
    seen = 0

    class Mean(nn.Module):
        def forward(self, some: torch.Tensor) -> torch.Tensor:
            nonlocal seen
            seen += len(some)
            return some.mean((2, 3))

    dataset = Dataset(images, torch.zeros(len(images), dtype=torch.int64), ("a",))
    front = Front(Network("mean", Mean(), 3), cache=False)
    found = front.through(dataset).inputs
    assert isinstance(found, torch.Tensor)
    return found, seen


def main(folder: str, number: str, *names: str) -> None:
    torch.set_num_threads(1)
    logging.disable()
    here, chosen = Path(folder), names or tuple(name for name in METHODS if not METHODS[name].one_process)

    def work() -> None:
        found = {name: trained(name) for name in chosen}
        features = features_of(IMAGES)
        if processes.is_first():
            together = {"found": found, "fetched": Stored.fetched, "features": features}
            torch.save(together, here / "several.pt")

    several(work, int(number))
    for count, after in ((2, 7), (3, 13)):
        several(partial(stopped, here, after), count)
    stopped(here, 16)
    stopped(here, 1000)
    theirs, differences = torch.load(here / "several.pt"), {}
    for name in chosen:
        differences[name] = apart(theirs["found"][name], trained(name))
    outcome = {"methods": differences, "fetched": [theirs["fetched"], Stored.fetched]}
    (together, mine), (alone, all_) = theirs["features"], features_of(IMAGES)
    outcome["features"] = [torch.equal(together, alone), mine, all_]
    outcome["resumed"] = apart(torch.load(here / "resumed.pt"), trained("cmw-net-sl"))
    print(json.dumps({**outcome, "places": (here / "places.txt").read_text().splitlines()}))


if __name__ == "__main__":
    main(*sys.argv[1:])
