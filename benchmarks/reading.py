"""Reading images: speed beside a plain DataLoader, overlap with training, memory, and the time to start.

python benchmarks/reading.py speed       # images per second, 64 and 224 pixels, relative to torch's DataLoader
python benchmarks/reading.py overlap     # with a step of 20 ms that leaves the processors alone
python benchmarks/reading.py memory      # at the peak of an epoch, by number and size of the images
python benchmarks/reading.py start       # with 200,000 files, the first time and the second
python benchmarks/reading.py decoded     # how often an image is decoded in a training
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

import numpy as np
import torch
from PIL import Image
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from reweigh.data import read

BATCH, ROUNDS, STEP = 64, 5, 0.02
STORED = {64: (96, 72), 224: (500, 375)}  # photos as they are stored, wider than they are used


def write_images(folder: Path, count: int, size: tuple[int, int], distinct: int = 50) -> None:
    """JPEG files in two classes; some content, so that they are decoded as photos are."""
    generator = np.random.default_rng(0)
    contents = []
    for number in range(min(distinct, count)):
        small = generator.integers(0, 256, (size[1] // 6, size[0] // 6, 3), dtype=np.uint8)
        file = folder / f"{number}.jpg"
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray(small).resize(size, Image.Resampling.BICUBIC).save(file, quality=90)
        contents.append(file.read_bytes())
        file.unlink()
    for number in range(count):
        inner = folder / "ab"[number % 2] / f"{number // 2 // 1000:03}"
        inner.mkdir(parents=True, exist_ok=True)
        (inner / f"{number:07}.jpg").write_bytes(contents[number % len(contents)])


class Plain(Dataset[Tensor]):
    """What one would write: open, convert, resize the middle, to a tensor."""

    def __init__(self, folder: Path, side: int) -> None:
        self.files, self.side = sorted(folder.rglob("*.jpg")), side

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, index: int) -> Tensor:
        from PIL import ImageOps

        with Image.open(self.files[index]) as image:
            small = ImageOps.fit(image.convert("RGB"), (self.side, self.side), Image.Resampling.BILINEAR)
        return torch.from_numpy(np.array(small)).permute(2, 0, 1)


def batches(folder: Path, side: int, disk_gb: float = 0.0) -> Callable[[], Iterator[Tensor]]:
    """An epoch of raw batches, as training reads them."""
    data = read(folder, size=side, memory_gb=0.0, disk_gb=disk_gb)
    data.inputs.keep(0, 1)  # pyright: ignore[reportAttributeAccessIssue]
    order = torch.randperm(len(data), generator=torch.Generator().manual_seed(0)).split(BATCH)
    return lambda: data.inputs.ahead(list(order))  # pyright: ignore[reportAttributeAccessIssue]


def plain(folder: Path, side: int) -> Callable[[], Iterator[Tensor]]:
    """An epoch of a DataLoader with as many workers."""
    workers = min(8, len(os.sched_getaffinity(0)))
    return lambda: iter(DataLoader(Plain(folder, side), BATCH, shuffle=True, num_workers=workers))


def seconds(epoch: Callable[[], Iterator[Tensor]], step: float = 0.0) -> float:
    begun = time.perf_counter()
    for _ in epoch():
        time.sleep(step)
    return time.perf_counter() - begun


def processor_seconds(epoch: Callable[[], Iterator[Tensor]]) -> float:
    """Of this process and its workers, which other work on the same machine changes less."""

    def used() -> float:
        found = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return sum(each.ru_utime + each.ru_stime for each in found)

    begun = used()
    seconds(epoch)  # at its end the workers have ended
    return used() - begun


def speed(folder: Path) -> None:
    """Alternating; the median of the ratios."""
    for side, stored in STORED.items():
        count = 2000 if side == 64 else 800
        write_images(folder / str(side), count, stored)
        ours, theirs = batches(folder / str(side), side), plain(folder / str(side), side)
        pairs = [(seconds(ours), seconds(theirs)) for _ in range(ROUNDS + 1)][1:]
        ratios = [b / a for a, b in pairs]
        busy = [processor_seconds(theirs) / processor_seconds(ours) for _ in range(4 * ROUNDS)]
        again = batches(folder / str(side), side, disk_gb=20.0)
        seconds(again)  # decodes
        later = median(seconds(again) for _ in range(ROUNDS))
        print(
            f"{side} pixels: {count / median(a for a, _ in pairs):.0f} images per second, {median(ratios):.2f} times a "
            f"DataLoader ({min(ratios):.2f}-{max(ratios):.2f}), by processor time {median(busy):.2f} "
            f"({min(busy):.2f}-{max(busy):.2f}); from the second epoch on {count / later:.0f}"
        )


def overlap(folder: Path) -> None:
    """Reading and steps together, relative to the larger of both."""
    for side, stored in STORED.items():
        count = 1280
        write_images(folder / str(side), count, stored)
        epoch = batches(folder / str(side), side)
        ratios = []
        for _ in range(ROUNDS):
            alone, steps = seconds(epoch), STEP * count / BATCH
            ratios.append(seconds(epoch, STEP) / max(alone, steps))
        print(f"{side} pixels: {median(ratios):.2f} times the larger of both ({min(ratios):.2f}-{max(ratios):.2f})")


def memory(folder: Path) -> None:
    """Megabytes at the peak of a training of an epoch, over what is there before the data are read."""
    for side, count in ((64, 1000), (64, 8000), (224, 500), (224, 2000)):
        write_images(folder / f"{side}-{count}", count, STORED[side])
        for how in ("data.memory_gb=2", "data.memory_gb=0"):
            command = [sys.executable, __file__, "peak", str(folder / f"{side}-{count}"), str(side), how]
            found = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
            pixels = count * side * side * 3 / 1e6
            print(f"{count} images of {side} pixels ({pixels:.0f} MB of pixels), {how}: {found} MB")


def peak(folder: str, side: str, how: str) -> None:
    """Train for an epoch and print the peak."""
    from reweigh.recipes.read import check
    from reweigh.recipes.read import read as read_recipe

    torch.set_num_threads(1)
    changes = [f"data.root={folder}", "data.path=.", f"data.size={side}", how, "method.name=erm", "model.name=cnn"]
    plan = check(
        read_recipe(
            "demo",
            [
                "data.name=files",
                *changes,
                "train.epochs=1",
                "train.warmup_epochs=0",
                "train.batch_size=16",
                "data.bias=[]",
            ],
        )
    )
    from reweigh.fit import fit
    from reweigh.fit.source import read_source

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    source = read_source(plan)
    fit(source.train, plan, test_set=source.test)
    print(round((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1e3))


def start(folder: Path, files: int = 200_000) -> None:
    """Seconds until the dataset is there; pixels are read later."""
    os.environ["REWEIGH_CACHE"] = str(folder / "cache")
    write_images(folder / "many", files, (40, 30))
    for time_ in ("first", "second"):
        begun, processor = time.perf_counter(), time.process_time()
        read(folder / "many", size=32, memory_gb=0.0)
        took, busy = time.perf_counter() - begun, time.process_time() - processor
        print(f"{files} files, the {time_} time: {took:.1f} s ({busy:.1f} s of this process)")


def decoded(folder: Path) -> None:
    """Decodings per image in a training of three epochs."""
    from reweigh.data import on_demand
    from reweigh.fit import fit
    from reweigh.fit.source import read_source
    from reweigh.recipes.read import check
    from reweigh.recipes.read import read as read_recipe

    write_images(folder / "some", 400, STORED[64])
    on_demand.shared_memory = lambda: 0  # in this process, where they can be counted
    for method in ("erm", "cmw-net", "cmw-net-sl", "two-looks"):
        for disk_gb in (20, 0):
            changes = ["data.name=files", f"data.root={folder}", "data.path=some", "data.size=32", "data.memory_gb=0"]
            changes += [
                f"data.disk_gb={disk_gb}",
                f"method.name={method}",
                "model.name=cnn",
                "train.epochs=3",
                "data.bias=[]",
            ]
            plan = check(read_recipe("demo", changes))
            found = read_source(plan)
            source, count = found.train.inputs.inputs, 0  # pyright: ignore[reportAttributeAccessIssue]
            inner = source.read_one

            def counted(index: int, inner: Callable[[int], Tensor] = inner) -> Tensor:
                nonlocal count
                count += 1
                return inner(index)

            source.read_one = counted
            fit(found.train, plan, test_set=found.test)
            print(f"{method}, data.disk_gb={disk_gb}: {count / 400:.2f} decodings per image in three epochs")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=["speed", "overlap", "memory", "start", "decoded", "peak"])
    parser.add_argument("more", nargs="*", help=argparse.SUPPRESS)
    given = parser.parse_args()
    torch.set_num_threads(1)
    if given.part == "peak":
        peak(*given.more)
    else:
        with tempfile.TemporaryDirectory() as place:
            os.environ.setdefault("REWEIGH_CACHE", str(Path(place, "cache")))
            {"speed": speed, "overlap": overlap, "memory": memory, "start": start, "decoded": decoded}[given.part](
                Path(place)
            )
