"""What data cost, as ratios within one run: python benchmarks/data.py --data FOLDER

FOLDER holds cifar-10-batches-bin (``reweigh data get cifar10 --root FOLDER``). Each ratio is one small function that
measures it; ``RATIOS`` puts its limit beside it. The exit code is 1 if a limit is broken.
"""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import numpy as np

from reweigh.data.cifar import LAYOUTS, read_cifar


class Ratio(NamedTuple):
    """A measured ratio and what it may be at most."""

    name: str
    measure: Callable[[Path], float]
    limit: float


def best_of(repeats: int, work: Callable[[], object]) -> float:
    """Seconds of the quickest of several runs, after one that warms the caches."""
    work()
    seconds = []
    for _ in range(repeats):
        start = perf_counter()
        work()
        seconds.append(perf_counter() - start)
    return min(seconds)


def reading_cifar(data: Path) -> float:
    """Reading the 60,000 images of CIFAR-10 as datasets, over reading the bytes of the same files."""
    folder = data / "cifar-10-batches-bin"
    files = [folder / file for files in LAYOUTS["cifar10"].splits.values() for file in files]
    as_datasets = best_of(7, lambda: [read_cifar(folder, split) for split in ("train", "test")])
    as_bytes = best_of(7, lambda: [np.fromfile(file, np.uint8) for file in files])  # quicker than read_bytes()
    return as_datasets / as_bytes


RATIOS = [
    Ratio("reading CIFAR-10 / reading its bytes", reading_cifar, 3.0),
]


def main() -> int:
    """Measure all ratios and say which keep to their limit."""
    parser = argparse.ArgumentParser(description="What data cost, as ratios within one run.")
    parser.add_argument("--data", type=Path, required=True, help="folder that holds cifar-10-batches-bin")
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
