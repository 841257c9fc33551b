import gzip
import struct
from pathlib import Path

import numpy as np
import pytest


def write_idx(path: Path, array: np.ndarray) -> Path:
    """An IDX file by the book, gzipped if its name says so."""
    codes = {"uint8": 8, "int8": 9, "int16": 11, "int32": 12, "float32": 13, "float64": 14}
    data = struct.pack(">BBBB", 0, 0, codes[array.dtype.name], array.ndim)
    data += struct.pack(f">{array.ndim}I", *array.shape) + array.astype(array.dtype.newbyteorder(">")).tobytes()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


@pytest.fixture
def idx():
    return write_idx


@pytest.fixture
def mnist_root(tmp_path) -> Path:
    """A data root with a tiny MNIST: 40 training images gzipped, 20 test images plain."""
    generator = np.random.default_rng(0)
    for stem, size, ending in (("train", 40, ".gz"), ("t10k", 20, "")):
        images = generator.integers(0, 256, (size, 28, 28), dtype=np.uint8)
        write_idx(tmp_path / "mnist" / f"{stem}-images-idx3-ubyte{ending}", images)
        write_idx(tmp_path / "mnist" / f"{stem}-labels-idx1-ubyte{ending}", (np.arange(size) % 10).astype(np.uint8))
    return tmp_path


@pytest.fixture
def cifar_root(tmp_path) -> Path:
    """A data root with a tiny CIFAR-10 and CIFAR-100, 200 records a file."""
    generator = np.random.default_rng(0)
    ten, hundred = tmp_path / "cifar-10-batches-bin", tmp_path / "cifar-100-binary"
    for folder, names, label_bytes, files in (
        (ten, "batches.meta.txt", 1, [f"data_batch_{part}.bin" for part in range(1, 6)] + ["test_batch.bin"]),
        (hundred, "fine_label_names.txt", 2, ["train.bin", "test.bin"]),
    ):
        folder.mkdir()
        classes = 10 ** (1 if label_bytes == 1 else 2)
        (folder / names).write_text("".join(f"class{number}\n" for number in range(classes)))
        for file in files:
            records = generator.integers(0, 256, (200, label_bytes + 3072), dtype=np.uint8)
            records[:, 0] = 7
            records[:, label_bytes - 1] = np.arange(200) % classes
            records.tofile(folder / file)
    return tmp_path
