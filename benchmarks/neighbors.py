"""Planted near-duplicates and foreign images: python benchmarks/neighbors.py --data FOLDER

5,000 CIFAR-10 images; 2 % more are copies, half of them re-encoded as JPEG (quality 75), half shifted by a pixel; and
2 % more are foreign, half of Fashion-MNIST and half of MNIST. Precision and recall of ``features.neighbors`` beside
cleanlab's Datalab (extra ``bench``), both with their defaults and on the same features of EfficientNet-Lite0. A
copy that Datalab pairs with any of its set of near-duplicates counts as found. CIFAR-10 has near-duplicates of its
own, which count as mistakes of both. ``--data`` holds cifar-10-batches-bin, fashion-mnist and mnist.
"""

import argparse
import io
import logging
import sys
from pathlib import Path

import numpy as np
import torch
from cleanlab import Datalab
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

from cells import cifar
from reweigh.data.readers.idx import find_idx_pair, read_idx
from reweigh.features import build
from reweigh.features.extract import extract
from reweigh.features.neighbors import PHOTOS, Rule, neighborhood

IMAGES, PLANTED = 5_000, 100
SHIFTS = ((0, 1), (1, 0), (1, 1))


def copied(image: NDArray, number: int) -> NDArray:
    """A near-duplicate of an image (3, 32, 32)."""
    if number % 2:
        down, right = SHIFTS[number % len(SHIFTS)]
        return np.pad(image, ((0, 0), (down, 0), (right, 0)), mode="edge")[:, :32, :32]
    file = io.BytesIO()
    Image.fromarray(image.transpose(1, 2, 0)).save(file, "JPEG", quality=75)
    return np.asarray(Image.open(file)).transpose(2, 0, 1)


def foreign(data: Path) -> list[NDArray]:
    """Images of another kind, in the size of CIFAR-10."""
    found = []
    for name in ("fashion-mnist", "mnist"):
        pair = find_idx_pair(data / name, "train")
        assert pair, f"{data / name}: no training part"
        for image in read_idx(pair[0]).numpy()[-PLANTED // 2 :]:
            gray = np.asarray(Image.fromarray(image).resize((32, 32)))
            found.append(np.repeat(gray[None], 3, axis=0))
    return found


def scores(found: set, wanted: set) -> str:
    """Precision and recall in words."""
    right = len(found & wanted)
    return f"precision {right / max(1, len(found)):.2f}  recall {right / len(wanted):.2f}  ({len(found)} found)"


def compare(features: Tensor, pairs: set, outliers: set[int], given: NDArray, rule: Rule = PHOTOS) -> None:
    """Print precision and recall of both.

    Args:
        pairs: Each planted copy with its original.
        outliers: What is foreign.
        given: Labels, which Datalab asks for.
        rule: What counts as near-duplicate and outlier here.
    """
    ours = neighborhood(features, rule)
    assert ours is not None
    close = {
        frozenset((place, int(other)))
        for place, other in enumerate(ours.near_duplicate_of)
        if other >= 0 and place not in outliers
    }
    print("near-duplicates  reweigh ", scores(close, pairs), flush=True)
    print("outliers         reweigh ", scores({*ours.outlier.nonzero().flatten().tolist()}, outliers), flush=True)
    lab = Datalab({"label": given}, label_name="label", verbosity=0)
    lab.find_issues(features=features.numpy(), issue_types={"near_duplicate": {}, "outlier": {}})
    near = lab.get_issues("near_duplicate")
    theirs = {
        frozenset((place, int(other)))
        for place, others in enumerate(near["near_duplicate_sets"])
        for other in others
        if near["is_near_duplicate_issue"].iloc[place] and place not in outliers
    }
    print("near-duplicates  Datalab ", scores(theirs, pairs))
    alone = np.flatnonzero(lab.get_issues("outlier")["is_outlier_issue"])
    print("outliers         Datalab ", scores({*alone.tolist()}, outliers), flush=True)


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    logging.disable(logging.WARNING)
    rows, labels = cifar(arguments.data / "cifar-10-batches-bin" / "data_batch_2.bin", IMAGES)
    originals = np.random.default_rng(arguments.seed).permutation(IMAGES)[:PLANTED]
    copies = [copied(rows[place], number) for number, place in enumerate(originals)]
    images = np.concatenate([rows, np.stack(copies), np.stack(foreign(arguments.data))])
    network = build("efficientnet-lite0", images.shape[1:])
    assert network is not None
    features = extract(torch.from_numpy(images), network).rows
    assert isinstance(features, Tensor)
    pairs = {frozenset((IMAGES + number, int(place))) for number, place in enumerate(originals)}
    given = np.concatenate([labels, labels[originals], np.arange(PLANTED) % 10])
    compare(features, pairs, {*range(IMAGES + PLANTED, len(images))}, given)
    return 0


if __name__ == "__main__":
    sys.exit(main())
