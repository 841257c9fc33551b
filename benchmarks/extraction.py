"""Features from files beside a plain loop: python benchmarks/extraction.py --data FOLDER

Features of 1,024 CIFAR-10 images, read from PNG files, without the cache; against a loop that calls the same network on
the same images, which are in memory, resized and normalized already. Processor time, alternating, the median of five
ratios. The exit code is 1 if it is above 1.1. ``--data`` holds cifar-10-batches-bin.
"""

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

import torch
from PIL import Image

from cells import cifar
from reweigh.data import read
from reweigh.features import build
from reweigh.features.extract import extract
from reweigh.features.network import PIXELS, Network

IMAGES, ROUNDS, BAR = 1024, 5, 1.1


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    arguments = parser.parse_args()
    images, _ = cifar(arguments.data / "cifar-10-batches-bin" / "data_batch_1.bin", IMAGES)
    network = build("efficientnet-lite0", images.shape[1:])
    assert isinstance(network, Network)
    assert network.size is not None
    ready = network.prepare(torch.from_numpy(images))
    module = network.module.to(memory_format=torch.channels_last)  # pyright: ignore[reportCallIssue] (torch does not declare it)
    batch = PIXELS // network.size**2
    ratios = []
    with tempfile.TemporaryDirectory() as scratch:
        for place, image in enumerate(images):
            folder = Path(scratch, "photos", str(place % 2))
            folder.mkdir(parents=True, exist_ok=True)
            Image.fromarray(image.transpose(1, 2, 0)).save(folder / f"{place}.png")
        for _ in range(ROUNDS):
            begun = time.process_time()
            with torch.inference_mode():
                torch.cat([module(some) for some in ready.split(batch)])
            loop = time.process_time() - begun
            begun = time.process_time()
            extract(read(Path(scratch, "photos"), memory_gb=0).inputs, network, cache=False)
            ratios.append((time.process_time() - begun) / loop)
            print(f"plain loop {loop:.1f} s, from files {ratios[-1]:.2f} times that", flush=True)
    median = statistics.median(ratios)
    print(f"median ratio {median:.2f}; at most {BAR} is wanted")
    return int(median > BAR)


if __name__ == "__main__":
    sys.exit(main())
