"""IDX files, the format of the MNIST family, plain or gzipped."""

import gzip
import math
import zlib
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from reweigh.data.arrays import from_arrays
from reweigh.data.checks import listed
from reweigh.data.dataset import Dataset
from reweigh.data.readers.reader import Reader, Request
from reweigh.errors import DataError
from reweigh.files.limits import RATIO, check_expanded, check_file, limit

TYPES = {8: ">u1", 9: ">i1", 11: ">i2", 12: ">i4", 13: ">f4", 14: ">f8"}  # by the third byte of the file
STEMS = {"train": "train", "test": "t10k"}


def read_idx(path: str | Path) -> Tensor:
    """The array of an IDX file.

    Raises:
        DataError: The file does not exist, is not an IDX file, or is not as long as its header says.
    """
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
            data = file.read(max(limit("expanded"), RATIO * len(data)) + 1)
        check_expanded(path, len(data))
        return data
    except FileNotFoundError:
        raise DataError(f"{path}: there is no such file") from None
    except (EOFError, OSError, zlib.error) as error:
        raise DataError(f"{path}: cannot be unzipped ({error}); delete it and download it again") from error


def read_idx_pair(path: Path, request: Request) -> Dataset:
    """A dataset from a folder with files of images and labels, or from a file of images with its labels next to it.

    Raises:
        DataError: A file is missing or broken, or the two do not belong together.
    """
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


def _recognizes(path: Path) -> bool:
    if path.is_dir():
        return any(find_idx_pair(path, split) for split in STEMS)
    return companion(path) is not None


READER = Reader(
    about="IDX files (train-images-idx3-ubyte, ...)",
    recognizes=_recognizes,
    read=read_idx_pair,
    has_test=lambda path: path.is_dir() and find_idx_pair(path, "test") is not None,
)
