"""The benchmark datasets known by name, read from their official files below a data root."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

from annotated_types import Gt

from reweigh.data.arrays import from_arrays
from reweigh.data.dataset import Dataset, Splits
from reweigh.data.labels.label_file import read_labels
from reweigh.data.named.sources import folder_of
from reweigh.data.normalize import Standardize
from reweigh.data.readers.cifar import read_cifar
from reweigh.data.readers.idx import find_idx_pair, read_idx
from reweigh.data.subsets import beyond, part

Size = Annotated[int, Gt(0)] | None

# Class names, and mean and deviation of the training pixels in [0, 1].
MNIST_FAMILY = {
    "mnist": (tuple("0123456789"), 0.1307, 0.3081),
    "fashion-mnist": (
        ("T-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "ankle boot"),
        0.2860,
        0.3530,
    ),
    "kmnist": (("o", "ki", "su", "tsu", "na", "ha", "ma", "ya", "re", "wo"), 0.1918, 0.3483),
}


def idx_split(name: str, folder: Path, split: str) -> Dataset:
    """One split of a dataset of the MNIST family."""
    names, mean, std = MNIST_FAMILY[name]
    pair = find_idx_pair(folder, split)
    assert pair is not None  # the folder is complete
    images, labels = map(read_idx, pair)
    return from_arrays(images, labels, class_names=names, normalize=Standardize([mean], [std]), what=str(pair[0]))


def official(name: str, about: str) -> Callable[..., Splits]:
    """The function that reads the dataset called ``name``; ``about`` is a line on what it is."""

    def read(
        root: Path,
        *,
        train_size: Size = None,
        test_size: Size = None,
        held_out: Size = None,
        subset_seed: int = 0,
        labels: str | None = None,
    ) -> Splits:
        """The official training and test images.

        Args:
            root: the data root; the files lie in a folder of the dataset below it.
            train_size: only so many training samples, the same share of each class; all by default.
            test_size: likewise of the test samples.
            held_out: judge on so many training samples beyond ``train_size`` instead of the test samples; to choose
                settings without a look at the test. The same for every bias and seed of a run.
            subset_seed: which ones; apart from the seed of the training, so that all runs see the same.
            labels: a label file for the whole training set (human re-annotations); the official ones stay as true.

        Raises:
            DataError: files are missing (with the command that gets them) or broken.
        """
        folder = folder_of(name, root)
        if name in MNIST_FAMILY:
            train, test = (idx_split(name, folder, split) for split in ("train", "test"))
        else:
            train, test = (read_cifar(folder, split) for split in ("train", "test"))
        if labels is not None:
            train = train.with_labels(read_labels(labels, len(train), train.class_names))
        if held_out is not None:
            test = beyond(train, train_size, held_out, subset_seed)
        return Splits(
            part(train, train_size, subset_seed, "train_size"), part(test, test_size, subset_seed, "test_size")
        )

    read.__doc__ = f"{about}\n\n        {read.__doc__}"
    read.__name__ = read.__qualname__ = name.replace("-", "_")
    return read
