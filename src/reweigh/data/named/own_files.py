"""The user's own data as a dataset that a recipe can name, split into training and test parts."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import torch
from annotated_types import Ge, Gt, Lt
from torch import Tensor

from reweigh.data.dataset import Dataset, Reading, Splits
from reweigh.data.labels.candidates import split_names
from reweigh.data.normalize import Standardize, standardize_like
from reweigh.data.on_demand import DEFAULT_MEMORY_GB
from reweigh.data.readers import has_test_part, read
from reweigh.data.readers.image_files import Resize
from reweigh.data.subsets import stratified
from reweigh.data.tables.encoding import fit_encoding
from reweigh.data.tables.frames import read_frame
from reweigh.errors import DataError


def files(
    root: Path,
    *,
    path: str,
    test: str | None = None,
    test_fraction: Annotated[float, Gt(0), Lt(1)] = 0.2,
    split_seed: int = 0,
    label: str | None = None,
    labels: str | None = None,
    true_label: str | None = None,
    size: int | None = None,
    resize: Resize = "crop",
    memory_gb: Annotated[float, Ge(0)] = DEFAULT_MEMORY_GB,
    unlabeled: bool = False,
    separator: str | None = None,
) -> Splits:
    """Your own data: a folder of images, a table, arrays, IDX or CIFAR files.

    Mean and standard deviation, or the encoding of a table, are fitted to the training part only.

    Args:
        root: folder that the paths are relative to.
        path: the data, in any format that ``read`` knows.
        test: the data to test on, in the same format; by default the test part of ``path`` if there is one, or a share.
        test_fraction: share of the samples to test on, the same of each class.
        split_seed: seed that chooses these samples.
        label: the column of a table, or the array of a ``.npz``, that holds the labels.
        labels: a label file for the samples of ``path``.
        true_label: the column of a table that holds true labels.
        size: height and width to resize images to.
        resize: how images of other proportions are resized: "crop" the middle, "pad" with gray, or "stretch".
        memory_gb: images that take more gigabytes are read when they are needed.
        unlabeled: whether a label in a table, an array or a label file may be empty or -1, for a sample without one.
            For methods that also learn from these samples; only labeled samples are held out.
        separator: string between labels where a sample has several candidate labels, such as ``|``.

    Raises:
        DataError: the data cannot be read.
    """
    source = Path(root, path)
    label_file = None if labels is None else Path(root, labels)
    several = separator is not None
    if several and true_label is not None:
        raise DataError(
            "true_label and separator: true labels are not read next to candidate labels; drop one of the two"
        )
    train = read(
        source,
        label=label,
        labels=label_file,
        true_label=true_label,
        size=size,
        resize=resize,
        memory_gb=memory_gb,
        unlabeled=unlabeled,
        new_classes=several,
    )
    if several:
        train = split_names(train, separator)
    if test is None and not has_test_part(source):
        if train.reading.encoding is not None:
            return split_table(train, source, test_fraction, split_seed)
        return split(train, test_fraction, split_seed)
    judged = read(
        source if test is None else Path(root, test),
        split="train" if test is not None else "test",
        class_names=None if several else train.class_names,
        encoding=train.reading.encoding,
        label=label,
        true_label=true_label,
        size=(train.shape[1], train.shape[2]) if train.is_images else None,
        resize=resize,
        memory_gb=memory_gb,
    )
    check_alike(train, judged)
    if several:
        judged = split_names(judged, separator, train.class_names)
    return Splits(train, replace(judged, normalize=train.normalize))


def check_alike(train: Dataset, test: Dataset) -> None:
    """Raise a DataError unless test and training samples have the same shape and type."""
    wanted, got = (
        f"{'bytes' if part.dtype == torch.uint8 else 'floats'} of shape {part.shape}" for part in (train, test)
    )
    if wanted != got:
        raise DataError(f"test: samples are {got}, but the training samples are {wanted}; make them the same")


def split(dataset: Dataset, test_fraction: float, seed: int) -> Splits:
    """Training and test parts with the same share of each class, normalized by the training part."""
    kept, held_out = rows(dataset.labels, test_fraction, seed)
    train, test = dataset.subset(kept), dataset.subset(held_out)
    if isinstance(dataset.normalize, Standardize) and isinstance(train.inputs, Tensor):
        normalize = standardize_like(train.inputs)
        return Splits(replace(train, normalize=normalize), replace(test, normalize=normalize))
    return Splits(train, test)


def split_table(whole: Dataset, path: Path, test_fraction: float, seed: int) -> Splits:
    """Training and test parts of a table, encoded by the training part."""
    frame = read_frame(path)[[column.name for column in whole.reading.encoding.columns]]
    parts, encoding = [], None
    for index in rows(whole.labels, test_fraction, seed):
        features = frame.iloc[index.tolist()]
        encoding = encoding or fit_encoding(features, what=str(path))
        reading = Reading(missing=encoding.missing(features), encoding=encoding)
        parts.append(replace(whole.subset(index), inputs=encoding.apply(features), reading=reading))
    return Splits(*parts)


def rows(labels: Tensor, test_fraction: float, seed: int) -> tuple[Tensor, Tensor]:
    """Indices of the training samples and of the test samples, each in order."""
    labeled = (labels >= 0).nonzero().squeeze(1)
    held_out = labeled[stratified(labels[labeled], max(1, round(test_fraction * len(labeled))), seed)]
    kept = torch.ones(len(labels), dtype=torch.bool)
    kept[held_out] = False
    return kept.nonzero().squeeze(1), held_out
