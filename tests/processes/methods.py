"""Train every method in one process and in several, in double precision, and print the largest difference of weights.

    python methods.py FOLDER PROCESSES [METHOD ...]
"""

import json
import logging
import sys
from dataclasses import replace
from pathlib import Path

import torch
from launch import several
from torch import Tensor, nn

from reweigh.bias import CANDIDATES
from reweigh.compare.grid import plan
from reweigh.data import Dataset, few_labels, with_candidates
from reweigh.fit import fit
from reweigh.methods import METHODS
from reweigh.training import processes

EPOCHS = 4
OPTIONS = {
    "two-looks": ["train.epochs=10"],
    "erm": ["train.judge=0.2", "train.calibration=0.1"],
    "elr": ["train.scoring=out-of-fold"],
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


def trained(name: str) -> dict[str, Tensor]:
    """What a method comes to: its weights, and what it made of the samples."""
    changes = [f"train.epochs={EPOCHS}", "train.warmup_epochs=1", "train.batch_size=13", "meta_set.per_class=3"]
    changes += ["method.every=2", *OPTIONS.get(name, [])]
    (recipe,) = plan("demo", changes, [name], seeds=1).values()
    if "settled" in recipe.method.options:  # soft labels from the first epoch on
        recipe = replace(recipe, method=replace(recipe.method, options={**recipe.method.options, "settled": 0.0}))
    samples = data(name)
    if name == "elr":  # read as if from files
        samples = replace(samples, inputs=Stored(samples.inputs))
    found = fit(samples, recipe, build=network, test_set=images().subset(torch.arange(7)))
    state = {key: value.clone() for key, value in found.model.state_dict().items()}
    return {**state, "quality": found.samples.quality.nan_to_num(), "losses": found.samples.losses.nan_to_num()}


class Stored:
    """Inputs that are fetched, not held; ``fetched`` counts the samples."""

    fetched = 0

    def __init__(self, inputs: Tensor):
        self.inputs = inputs

    def __len__(self) -> int:
        return len(self.inputs)

    def __getitem__(self, index: Tensor, /) -> Tensor:
        Stored.fetched += len(self.inputs[index])
        return self.inputs[index]


def main(folder: str, number: str, *names: str) -> None:
    torch.set_num_threads(1)
    logging.disable()
    chosen = names or tuple(METHODS)

    def work() -> None:
        found = {name: trained(name) for name in chosen}
        found["fetched"] = {"": torch.tensor(Stored.fetched)}
        if processes.is_first():
            torch.save(found, Path(folder, "several.pt"))

    several(work, int(number))
    found, differences = torch.load(Path(folder, "several.pt")), {}
    for name in chosen:
        alone = trained(name)
        assert alone.keys() == found[name].keys()
        differences[name] = max(float((found[name][key].double() - its.double()).abs().max()) for key, its in alone.items())
    print(json.dumps({"differences": differences, "fetched": [int(found["fetched"][""]), Stored.fetched]}))


if __name__ == "__main__":
    main(*sys.argv[1:])
