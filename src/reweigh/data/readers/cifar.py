"""The binary files of CIFAR-10 and CIFAR-100: one or two label bytes, then 3,072 bytes of image."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from reweigh.data.checks import check_samples
from reweigh.data.dataset import Dataset
from reweigh.data.normalize import Standardize
from reweigh.data.readers.reader import Reader
from reweigh.errors import DataError

PIXELS = 3 * 32 * 32


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
    """The training or test images of CIFAR-10 or CIFAR-100, whichever the folder holds.

    Raises:
        DataError: Files are missing or truncated, or labels are out of range.
    """
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
    """All records of the files, in order.

    Returns:
        tuple: Images (N, 3, 32, 32) bytes, and labels (N,) from the last label byte.

    Raises:
        DataError: A file does not exist or is truncated.
    """
    record = label_bytes + PIXELS
    sizes = [whole_records(file, record) for file in files]
    images = np.empty((sum(sizes), PIXELS), dtype=np.uint8)
    labels = np.empty(sum(sizes), dtype=np.int64)
    start = 0
    for file, size in zip(files, sizes, strict=True):
        records = np.fromfile(file, dtype=np.uint8, count=size * record).reshape(size, record)
        images[start : start + size] = records[:, label_bytes:]
        labels[start : start + size] = records[:, label_bytes - 1]
        start += size
    return torch.from_numpy(images).view(-1, 3, 32, 32), torch.from_numpy(labels)


def whole_records(file: Path, record: int) -> int:
    """Number of records in a file."""
    if not file.is_file():
        raise DataError(f"{file}: there is no such file")
    size = file.stat().st_size
    if size == 0 or size % record:
        raise DataError(
            f"{file}: truncated: {size} bytes are not a whole number of records of {record}; "
            "delete it and download it again"
        )
    return size // record


READER = Reader(
    about="a folder of binary CIFAR files",
    recognizes=lambda path: find_layout(path) is not None,
    read=lambda path, request: read_cifar(path, request.split),
    has_test=lambda path: True,
)
