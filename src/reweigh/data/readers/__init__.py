"""Whatever lies at a path as a dataset: images, a table, arrays, IDX or CIFAR files."""

from collections.abc import Sequence
from pathlib import Path

from reweigh.data.dataset import Dataset
from reweigh.data.labels.label_file import label_values, override
from reweigh.data.on_demand import DEFAULT_MEMORY_GB
from reweigh.data.readers.cifar import find_layout, read_cifar
from reweigh.data.readers.idx import companion, find_idx_pair, read_idx_pair
from reweigh.data.readers.image_folder import read_image_folder
from reweigh.data.readers.npz import read_arrays
from reweigh.data.readers.table import has_label_column, read_table
from reweigh.data.tables.encoding import Encoding
from reweigh.data.tables.frames import SUFFIXES
from reweigh.errors import DataError

SPLIT_FOLDERS = {"train": ("train", "training"), "test": ("test", "val", "valid", "validation")}
KNOWN = (
    "a folder of images with one sub-folder a class, a table (.csv, .tsv, .parquet), "
    "arrays (.npz, or .npy with a label file), "
    "a folder with an IDX pair (train-images-idx3-ubyte, ...), or a folder of binary CIFAR files"
)


def read(
    path: str | Path,
    *,
    label: str | None = None,
    labels: str | Path | None = None,
    true_label: str | None = None,
    split: str = "train",
    size: int | tuple[int, int] | None = None,
    class_names: Sequence[str] | None = None,
    encoding: Encoding | None = None,
    memory_gb: float = DEFAULT_MEMORY_GB,
    unlabeled: bool = False,
    new_classes: bool = False,
) -> Dataset:
    """Recognize what lies at ``path`` and read it.

    Args:
        label: the column of a table, or the array of a ``.npz``, that holds the labels.
        labels: a label file (``.npy``, ``.csv``) in place of the labels that the data have.
        true_label: the column of a table that holds true labels.
        split: "train" or "test", where the path holds both.
        size: height and width of images, if they differ.
        class_names: in the order of the class numbers; otherwise as the data have them.
        encoding: how to encode a table, as fitted to another.
        memory_gb: images that take more are read when needed.
        unlabeled: a label in a table, an array or a label file may be empty, or -1: the sample has none.
        new_classes: the classes are those that the label file names, not those that the data have.

    Raises:
        DataError: there is nothing, nothing known, or something broken at the path; the message says which.
    """
    path = Path(path)
    if split not in SPLIT_FOLDERS:
        raise DataError(f"split: {split!r}; there are: {', '.join(SPLIT_FOLDERS)}")
    if path.is_dir():
        dataset = read_folder(path, split, size, class_names, memory_gb)
    elif not path.exists():
        raise DataError(f"{path}: there is nothing at this path")
    elif path.name.endswith(SUFFIXES) and labels is not None and label is None and not has_label_column(path):
        return read_table(
            path, labels=label_values(labels), class_names=class_names, encoding=encoding, unlabeled=unlabeled
        )
    elif path.name.endswith(SUFFIXES):
        dataset = read_table(
            path,
            label=label,
            true_label=true_label,
            class_names=class_names,
            encoding=encoding,
            unlabeled=unlabeled and labels is None,
        )
    elif path.suffix == ".npz":
        dataset = read_arrays(path, label=label, class_names=class_names, unlabeled=unlabeled and labels is None)
    elif path.suffix == ".npy" and labels is not None:
        return read_arrays(path, label_values(labels), class_names=class_names, unlabeled=unlabeled)
    elif path.suffix == ".npy":
        raise DataError(f"{path}: inputs without labels; give a label file too (labels=...), or store both in one .npz")
    elif (labels_beside := companion(path)) is not None:
        dataset = read_idx_pair(path, labels_beside, class_names=class_names)
    else:
        raise DataError(f"{path}: not known by its name; known are {KNOWN}")
    return dataset if labels is None else override(dataset, labels, unlabeled=unlabeled, new_classes=new_classes)


def read_folder(
    folder: Path, split: str, size: int | tuple[int, int] | None, class_names: Sequence[str] | None, memory_gb: float
) -> Dataset:
    """The split of a folder of IDX files, CIFAR files or images."""
    pair = find_idx_pair(folder, split)
    if pair:
        return read_idx_pair(*pair, class_names=class_names)
    if find_layout(folder):
        return read_cifar(folder, split)
    if not any(entry.is_dir() for entry in folder.iterdir()):
        raise DataError(f"{folder}: nothing known in this folder; known are {KNOWN}")
    return read_image_folder(split_folder(folder, split), size=size, class_names=class_names, memory_gb=memory_gb)


def split_folder(folder: Path, split: str) -> Path:
    """The sub-folder of a split if the folder is divided into training and test parts, otherwise the folder itself."""
    there = {entry.name for entry in folder.iterdir() if entry.is_dir() and not entry.name.startswith(".")}
    if not there <= {name for names in SPLIT_FOLDERS.values() for name in names}:
        return folder
    found = [name for name in SPLIT_FOLDERS[split] if name in there]
    if not found:
        raise DataError(f"{folder}: no {split} part; there are: {', '.join(sorted(there))}")
    return folder / found[0]


def has_test_part(path: Path) -> bool:
    """Does the path hold test samples of its own, apart from the training samples?"""
    if not path.is_dir():
        return False
    if find_idx_pair(path, "train") or find_layout(path):
        return find_layout(path) is not None or find_idx_pair(path, "test") is not None
    return split_folder(path, "train") != path and any((path / name).is_dir() for name in SPLIT_FOLDERS["test"])
