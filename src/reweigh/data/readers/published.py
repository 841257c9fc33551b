"""Files of published datasets: IDX of the MNIST family, plain or gzipped, and the binary files of CIFAR."""

import gzip
import math
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from reweigh.data.arrays import from_arrays
from reweigh.data.dataset import Dataset, check_samples, listed
from reweigh.data.inputs import Standardize
from reweigh.data.readers.reader import Reader, Request
from reweigh.errors import DataError
from reweigh.files.limits import MAX_EXPANSION, check_expanded, check_file, limit

TYPES = {8: ">u1", 9: ">i1", 11: ">i2", 12: ">i4", 13: ">f4", 14: ">f8"}  # by the third byte of the file
STEMS = {"train": "train", "test": "t10k"}


def read_idx(path: str | Path) -> Tensor:
    """The array of an IDX file."""
    path = Path(path)
    data = content(path)
    remedy = "delete it and download it again"
    if len(data) < 4 or data[:2] != b"\0\0" or data[2] not in TYPES:
        raise DataError(f"{path}: not an IDX file (starts with {data[:4].hex(' ') or 'nothing'}); {remedy}")
    type_, start = np.dtype(TYPES[data[2]]), 4 + 4 * data[3]
    shape = tuple(np.frombuffer(data[4:start], dtype=">u4").tolist()) if len(data) >= start else ()
    promised = start + math.prod(shape) * type_.itemsize if len(data) >= start else start
    if len(data) != promised or not shape:
        kind = "truncated" if len(data) < promised else "too long"
        raise DataError(f"{path}: {kind}: {len(data)} bytes, its header {shape} promises {promised}; {remedy}")
    array = np.frombuffer(data, dtype=type_, offset=start).reshape(shape)
    return torch.from_numpy(array.astype(type_.newbyteorder("=")))


def content(path: Path) -> bytes:
    """The bytes of a file, unzipped if they are gzipped, whatever the file is called."""
    check_file(path)
    try:
        data = path.read_bytes()
        if data[:2] != b"\x1f\x8b":
            return data
        with gzip.open(path) as file:
            data = file.read(max(limit("expanded"), MAX_EXPANSION * len(data)) + 1)
        check_expanded(path, len(data))
        return data
    except FileNotFoundError:
        raise DataError(f"{path}: there is no such file") from None
    except (EOFError, OSError, zlib.error) as error:
        raise DataError(f"{path}: cannot be unzipped ({error}); delete it and download it again") from error


def read_idx_pair(path: Path, request: Request) -> Dataset:
    """A dataset from a folder with files of images and labels, or from a file of images with its labels next to it."""
    pair = find_idx_pair(path, request.split) if path.is_dir() else (path, companion(path))
    if pair is None or pair[1] is None:
        names = " and ".join(idx_names(request.split))
        raise DataError(f"{path}: no {request.split} part; it needs {names}, plain or .gz")
    return from_arrays(read_idx(pair[0]), read_idx(pair[1]), class_names=request.class_names, what=str(pair[0]))


def find_idx_pair(folder: str | Path, split: str = "train") -> tuple[Path, Path] | None:
    """The files of images and labels of a split, by MNIST's file names, plain or ``.gz``; None if they are missing."""
    found = [
        next((path for path in (Path(folder, name), Path(folder, name + ".gz")) if path.is_file()), None)
        for name in idx_names(split)
    ]
    return (found[0], found[1]) if found[0] and found[1] else None


def companion(images: Path) -> Path | None:
    """The file of labels that belongs to a file of images by MNIST's file names; None for other names."""
    name = images.name.replace("images-idx3", "labels-idx1")
    return None if name == images.name else images.with_name(name)


def idx_names(split: str) -> tuple[str, str]:
    """MNIST's file names for the images and the labels of a split."""
    if split not in STEMS:
        raise DataError(f"split: {split!r}; there are: {listed(STEMS)}")
    return f"{STEMS[split]}-images-idx3-ubyte", f"{STEMS[split]}-labels-idx1-ubyte"


IDX = Reader(
    about="IDX files (train-images-idx3-ubyte, ...)",
    recognizes=lambda path: any(find_idx_pair(path, split) for split in STEMS) or companion(path) is not None,
    read=read_idx_pair,
    has_test=lambda path: path.is_dir() and find_idx_pair(path, "test") is not None,
)


CIFAR_VALUES = 3 * 32 * 32


class Layout(NamedTuple):
    """The files of one of the two datasets; the label is the last label byte."""

    splits: dict[str, tuple[str, ...]]
    names: str
    label_bytes: int
    mean: tuple[float, float, float]  # of the training images in [0, 1]
    std: tuple[float, float, float]


LAYOUTS = {
    "cifar10": Layout(
        {"train": tuple(f"data_batch_{part}.bin" for part in range(1, 6)), "test": ("test_batch.bin",)},
        "batches.meta.txt",
        1,
        (0.4914, 0.4822, 0.4465),
        (0.2470, 0.2435, 0.2616),
    ),
    "cifar100": Layout(
        {"train": ("train.bin",), "test": ("test.bin",)},
        "fine_label_names.txt",
        2,
        (0.5071, 0.4865, 0.4409),
        (0.2673, 0.2564, 0.2762),
    ),
}


def read_cifar(folder: str | Path, split: str = "train") -> Dataset:
    """The training or test images of CIFAR-10 or CIFAR-100, whichever the folder holds."""
    folder = Path(folder)
    layout = find_layout(folder)
    if layout is None:
        raise DataError(f"{folder}: no binary CIFAR files (data_batch_1.bin or train.bin, and the file of class names)")
    if split not in layout.splits:
        raise DataError(f"split: {split!r}; there are: {', '.join(layout.splits)}")
    images, labels = read_records([folder / name for name in layout.splits[split]], layout.label_bytes)
    names = tuple((folder / layout.names).read_text().split())
    return check_samples(Dataset(images, labels, names, normalize=Standardize(layout.mean, layout.std)), str(folder))


def find_layout(folder: Path) -> Layout | None:
    """The layout whose class names and first file are in the folder."""
    for layout in LAYOUTS.values():
        if (folder / layout.names).is_file() and (folder / layout.splits["train"][0]).is_file():
            return layout
    return None


def read_records(files: Sequence[Path], label_bytes: int) -> tuple[Tensor, Tensor]:
    """Images (N, 3, 32, 32) bytes of all records in the files, and labels (N,) from the last label byte."""
    found, record = [], label_bytes + CIFAR_VALUES
    for file in files:
        if not file.is_file():
            raise DataError(f"{file}: there is no such file")
        size = file.stat().st_size
        if size == 0 or size % record:
            raise DataError(
                f"{file}: truncated: {size} bytes are not a whole number of records of {record}; "
                "delete it and download it again"
            )
        found.append(np.fromfile(file, dtype=np.uint8).reshape(-1, record))
    records = torch.from_numpy(np.concatenate(found))
    return records[:, label_bytes:].reshape(-1, 3, 32, 32), records[:, label_bytes - 1].long()


CIFAR = Reader(
    about="a folder of binary CIFAR files",
    recognizes=lambda path: find_layout(path) is not None,
    read=lambda path, request: read_cifar(path, request.split),
    has_test=lambda path: True,
)
