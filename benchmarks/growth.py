"""How training grows with samples, classes and families: python benchmarks/growth.py [--methods erm,cmw-net,cmw-net-sl]

A perceptron of two hidden layers of 64 on rows of 100 random numbers, one epoch in batches of 256 after one that warms
up; a tenth of the steps learns weights. Each size runs in a process of its own, and prints

- processor time of a sample in the epoch, as a ratio to the first size of its column: 1.0 means linear in the samples,
  and flat in the classes. Plain training (``erm``) grows with the classes too, by its last layer;
- bytes that training takes for each sample, besides the data: the peak above what the process held before, with the
  most samples against the fewest (Linux only).

python benchmarks/growth.py --whole 100000 10000 --methods auto measures instead a whole ``RobustClassifier.fit`` of
two epochs, with every label judged, for so many samples and classes: processor seconds, and the peak above the data.
"""

import argparse
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from reweigh import RobustClassifier
from reweigh.data import Dataset, from_arrays
from reweigh.fit.trainer import Trainer
from reweigh.memory import keep_freed_memory
from reweigh.models import MODELS
from reweigh.plan.check import examine
from reweigh.plan.choose import chosen
from reweigh.plan.facts import Facts

FEATURES = 100
SAMPLES = (10_000, 100_000, 1_000_000)
CLASSES = (10, 100, 1_000, 10_000)
FAMILIES = (1, 3, 10)
MANY = 100_000  # samples, while classes or families grow


class Size(NamedTuple):
    """What grows."""

    samples: int
    classes: int = 10
    families: int = 3


def measure(method: str, size: Size) -> tuple[float, float]:
    """Processor seconds of an epoch, and the peak of memory in bytes above what the data take."""
    inputs, labels = drawn(size)
    dataset = from_arrays(inputs, labels)
    del inputs
    ends: list[float] = []
    held = peak_from_here()
    trainer(method, size, dataset).train(dataset, evaluate=lambda _: ends.append(time.process_time()) or {})
    return ends[-1] - ends[-2], memory("VmHWM") - held


def whole(method: str, size: Size) -> tuple[float, float]:
    """The same of a fit of two epochs by the estimator, with every label judged."""
    inputs, labels = drawn(size)
    model = RobustClassifier(method, epochs=2, device="cpu")
    held, begun = peak_from_here(), time.process_time()
    model.fit(inputs, labels)
    assert len(model.label_issues_) == size.samples
    return time.process_time() - begun, memory("VmHWM") - held


def drawn(size: Size) -> tuple[np.ndarray, np.ndarray]:
    """Random rows, and labels of every class."""
    keep_freed_memory()
    torch.set_num_threads(1)
    generator = np.random.default_rng(0)
    inputs = generator.standard_normal((size.samples, FEATURES), dtype=np.float32)
    labels = generator.integers(size.classes, size=size.samples - size.classes)
    return inputs, np.concatenate([np.arange(size.classes), labels])


def peak_from_here() -> int:
    """Bytes that this process holds now; the peak counts anew."""
    Path("/proc/self/clear_refs").write_text("5")
    return memory("VmRSS")


def memory(line: str) -> int:
    """Bytes of this process: VmRSS holds now, VmHWM at most."""
    found = next(each for each in Path("/proc/self/status").read_text().splitlines() if each.startswith(line))
    return 1024 * int(found.split()[1])


def trainer(method: str, size: Size, dataset: Dataset) -> Trainer:
    """Trains for two epochs."""
    train = {"epochs": 2, "batch_size": 256, "warmup_epochs": 0, "looks": 1, "judge": 0.0, "scoring": "in-training"}
    how = {"name": method} | ({} if method == "erm" else {"families": size.families})
    plan, mistakes = examine(chosen(Facts.of(dataset), {"method": how, "train": train}), passed=["data"])
    assert plan is not None, mistakes
    return Trainer(plan, partial(MODELS["mlp"], hidden=(64, 64)), torch.device("cpu"))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", default="erm,cmw-net,cmw-net-sl")
    parser.add_argument("--grows", default="samples,classes,families")
    parser.add_argument("--samples", type=int, default=SAMPLES[-1], help="at most; default: %(default)s")
    parser.add_argument("--whole", type=int, nargs=2, metavar=("SAMPLES", "CLASSES"), help="see above")
    options = parser.parse_args()
    methods = options.methods.split(",")
    if options.whole:
        for method in methods:
            with ProcessPoolExecutor(1, get_context("spawn")) as pool:
                busy, peak = pool.submit(whole, method, Size(*options.whole)).result()
            print(f"{method}: {busy:.0f} s of processor time, at most {peak / 1e6:.0f} MB above the data", flush=True)
        return
    columns = {
        "samples": [Size(number) for number in SAMPLES if number <= options.samples],
        "classes": [Size(MANY, classes) for classes in CLASSES],
        "families": [Size(MANY, 100, families) for families in FAMILIES],
    }
    with ProcessPoolExecutor(1, get_context("spawn"), max_tasks_per_child=1) as pool:
        for grows in options.grows.split(","):
            sizes = columns[grows]
            print(f"\n| {grows} | " + " | ".join(f"{getattr(size, grows):,}" for size in sizes) + " | bytes a sample |")
            print("|---" * (len(sizes) + 2) + "|")
            for method in methods:
                found = [pool.submit(measure, method, size).result() for size in sizes]
                each = [seconds / size.samples for (seconds, _), size in zip(found, sizes, strict=True)]
                more = sizes[-1].samples - sizes[0].samples
                extra = (found[-1][1] - found[0][1]) / more if more else float("nan")
                ratios = [f"{value / each[0]:.2f}" for value in each]
                print(f"| {method} | " + " | ".join(ratios) + f" | {extra:.0f} |", flush=True)


if __name__ == "__main__":
    main()
