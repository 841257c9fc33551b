"""The benchmark datasets, read from their official files, and scikit-learn's digits."""

import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import torch
import torch.nn.functional as F
from annotated_types import Gt, Lt

from reweigh.data.arrays import from_arrays
from reweigh.data.dataset import Dataset, Splits
from reweigh.data.inputs import Standardize, standardize_like
from reweigh.data.labels.label_file import label_values, read_labels
from reweigh.data.named.download import folder_of
from reweigh.data.readers.published import STEMS, find_idx_pair, read_cifar, read_idx
from reweigh.data.splits import beyond, part
from reweigh.errors import DataError
from reweigh.names import plural

log = logging.getLogger(__name__)
IMAGES_AT_ONCE = 5_000  # images that are shrunk at a time
BY_CHANCE = 1.5  # times the share of labels that agree if they are shuffled
Size = Annotated[int, Gt(0)] | None

# Class names, and mean and standard deviation of the training pixels in [0, 1].
MNIST_FAMILY = {
    "mnist": (tuple("0123456789"), 0.1307, 0.3081),
    "fashion-mnist": (
        ("T-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "ankle boot"),
        0.2860,
        0.3530,
    ),
    "kmnist": (("o", "ki", "su", "tsu", "na", "ha", "ma", "ya", "re", "wo"), 0.1918, 0.3483),
}


def shrunk(images: Dataset, size: int) -> Dataset:
    """Images of ``size`` x ``size`` pixels, whose pixels are means; bytes stay bytes."""
    side = images.shape[-1]
    if size > side:
        raise DataError(f"data.size: {size} pixels, but the images have {side}; they can only be made smaller")
    assert isinstance(images.inputs, torch.Tensor)
    parts = [
        F.adaptive_avg_pool2d(some.float(), size).round().to(some.dtype) for some in images.inputs.split(IMAGES_AT_ONCE)
    ]
    return replace(images, inputs=torch.cat(parts))


def official_files(name: str, about: str) -> Callable[..., Splits]:
    """The function that reads the dataset called ``name``; ``about`` describes it in one line."""

    def read(
        root: Path,
        *,
        train_size: Size = None,
        test_size: Size = None,
        held_out: Size = None,
        first: Size = None,
        labels: str | None = None,
        size: Size = None,
    ) -> Splits:
        """The official training and test images.

        Args:
            root: The data root, which contains the folder of the dataset.
            train_size: Number of training samples, with the same share of each class, and the same for all runs; all by
                default.
            test_size: Number of test samples, with the same share of each class; all by default.
            held_out: Test on this many training samples beyond ``train_size`` instead of the test samples, to choose
                settings without looking at the test set. They are the same for every bias and seed of a run.
            first: Number of training samples to keep, in the official order; published label files
                for feature-dependent noise are for the first 45,000 images of CIFAR.
            labels: A label file for these training samples (human re-annotations); the official labels become the
                true ones.
            size: Pixels of each side that images are shrunk to, for experiments in a fraction of the time: a pixel is
                the mean of those that it stands for. They are kept as they are by default.
        """
        folder = folder_of(name, root)
        if name in MNIST_FAMILY:
            classes, mean, std = MNIST_FAMILY[name]
            like = {"class_names": classes, "normalize": Standardize([mean], [std])}
            pairs = [pair for split in STEMS if (pair := find_idx_pair(folder, split))]  # the folder is complete
            train, test = (from_arrays(*map(read_idx, pair), **like, what=str(pair[0])) for pair in pairs)
        else:
            train, test = (read_cifar(folder, split) for split in ("train", "test"))
        if size is not None:
            train, test = shrunk(train, size), shrunk(test, size)
        if first is not None:
            if first > len(train):
                raise DataError(f"data.first: {first} samples, but the training set has {len(train)}")
            train = train.subset(torch.arange(first))
        if labels is not None:
            number = len(label_values(labels))
            if number < len(train):
                raise DataError(
                    f"data.labels: {labels} has {plural(number, 'label')} for {len(train):,} training images; if they "
                    "belong to the first ones, as in the published files for feature-dependent noise, add "
                    f"data.first={number}"
                )
            own = train.labels
            train = train.with_labels(read_labels(labels, len(train), train.class_names))
            agree = float((train.labels == own).double().mean())
            if agree < BY_CHANCE / train.num_classes:
                log.warning(
                    "%s: only %.1f %% of its labels are the official ones, about as many as by chance; is it in the "
                    "order of the official files?",
                    labels,
                    100 * agree,
                )
        if held_out is not None:
            test = beyond(train, train_size, held_out)
        return Splits(part(train, train_size, "train_size"), part(test, test_size, "test_size"))

    read.__doc__ = f"{about}\n\n        {read.__doc__}"
    read.__name__ = read.__qualname__ = name.replace("-", "_")
    return read


def digits(
    root: Path, *, test_fraction: Annotated[float, Gt(0), Lt(1)] = 0.3, train_size: Annotated[int, Gt(0)] | None = None
) -> Splits:
    """Handwritten digits, 1,797 images of 8 x 8 in gray that come with scikit-learn, for experiments that take seconds.

    Args:
        root: Not used; no file is read.
        test_fraction: Share of the images to test on, the same of each class.
        train_size: Number of training samples, with the same share of each class; all by default.
    """
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    pixels, labels = load_digits(return_X_y=True)
    images = torch.from_numpy(pixels).reshape(-1, 1, 8, 8).mul_(255 / 16).round_().byte()  # 17 gray levels, 0 to 16
    labels = torch.from_numpy(labels).long()
    train, test = train_test_split(
        torch.arange(len(labels)).numpy(), test_size=test_fraction, stratify=labels.numpy(), random_state=0
    )
    train, test = torch.from_numpy(train).sort().values, torch.from_numpy(test).sort().values
    everything = Dataset(images, labels, tuple("0123456789"), normalize=standardize_like(images[train]))
    return Splits(part(everything.subset(train), train_size, "train_size"), everything.subset(test))
