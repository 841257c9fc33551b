"""The cost of reading and augmenting data, as ratios within one run: python benchmarks/data.py --data FOLDER

FOLDER contains cifar-10-batches-bin (``reweigh data get cifar10 --root FOLDER``). Each ratio is measured by one small
function; ``RATIOS`` lists them with their limits. The exit code is 1 if a limit is exceeded.
"""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from reweigh.data.readers.cifar import LAYOUTS, read_cifar
from reweigh.models import MODELS
from reweigh.transforms import Compose, Flip, Normalize, PadCrop


class Ratio(NamedTuple):
    """A measured ratio and its upper limit."""

    name: str
    measure: Callable[[Path], float]
    limit: float


def best_of(repeats: int, work: Callable[[], object]) -> float:
    """Seconds of the fastest of several runs, after one to warm up."""
    work()
    seconds = []
    for _ in range(repeats):
        start = perf_counter()
        work()
        seconds.append(perf_counter() - start)
    return min(seconds)


def reading_cifar(data: Path) -> float:
    """Reading the 60,000 images of CIFAR-10 as datasets, relative to reading the bytes of the same files."""
    folder = data / "cifar-10-batches-bin"
    files = [folder / file for files in LAYOUTS["cifar10"].splits.values() for file in files]
    as_datasets = best_of(7, lambda: [read_cifar(folder, split) for split in ("train", "test")])
    as_bytes = best_of(7, lambda: [np.fromfile(file, np.uint8) for file in files])  # faster than read_bytes()
    return as_datasets / as_bytes


def _batch(data: Path) -> tuple[Tensor, Compose]:
    """128 images as floats, and the augmentation of a recipe for CIFAR-10."""
    images = read_cifar(data / "cifar-10-batches-bin", "train").inputs[torch.arange(128)].float() / 255
    color = Normalize(mean=(0.4914, 0.4822, 0.4465), std=(0.247, 0.2435, 0.2616))
    return images, Compose([PadCrop(padding=4), Flip(), color])


def augmenting_at_once(data: Path) -> float:
    """Augmenting a batch of 128 images, relative to the same transforms called image by image."""
    images, augment = _batch(data)
    generator = torch.Generator().manual_seed(0)
    at_once = best_of(50, lambda: augment(images, generator))
    one_by_one = best_of(10, lambda: torch.cat([augment(image[None], generator) for image in images]))
    return at_once / one_by_one


def augmenting_in_training(data: Path) -> float:
    """Augmenting a batch of 128 images, relative to a plain training step of a ResNet-32 on it."""
    images, augment = _batch(data)
    generator = torch.Generator().manual_seed(0)
    model, labels = MODELS["resnet32"]((3, 32, 32), 10), torch.arange(128) % 10
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)

    def step() -> None:
        optimizer.zero_grad()
        F.cross_entropy(model(images), labels).backward()
        optimizer.step()

    return best_of(50, lambda: augment(images, generator)) / best_of(3, step)


RATIOS = [
    Ratio("reading CIFAR-10 / reading its bytes", reading_cifar, 3.0),
    Ratio("augmenting a batch / image by image", augmenting_at_once, 0.1),
    Ratio("augmenting a batch / a ResNet-32 step on it", augmenting_in_training, 0.05),
]


def main() -> int:
    """Measure all ratios and report which are within their limits."""
    parser = argparse.ArgumentParser(description="The cost of reading and augmenting data, as ratios within one run.")
    parser.add_argument("--data", type=Path, required=True, help="folder that contains cifar-10-batches-bin")
    data = parser.parse_args().data
    broken = 0
    for ratio in RATIOS:
        measured = ratio.measure(data)
        kept = measured <= ratio.limit
        broken += not kept
        print(f"{ratio.name:50} {measured:8.3f}   at most {ratio.limit:g}   {'ok' if kept else 'BROKEN'}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
