"""The user's own data as a dataset that a recipe can name, split into training and test parts."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import torch
from annotated_types import Ge, Gt, Lt
from torch import Tensor

from reweigh.data.dataset import Dataset, Reading, Splits
from reweigh.data.labels.candidates import split_names
from reweigh.data.normalize import Standardize, standardize_like
from reweigh.data.on_demand import DEFAULT_MEMORY_GB
from reweigh.data.readers import has_test_part, read
from reweigh.data.readers.image_files import Resize
from reweigh.data.scratch import DEFAULT_DISK_GB
from reweigh.data.subsets import stratified
from reweigh.data.tables.decide import Kind
from reweigh.data.tables.encoding import TextAs, fit_encoding
from reweigh.data.tables.frames import read_frame
from reweigh.errors import DataError

if TYPE_CHECKING:
    import pandas as pd


def files(
    root: Path,
    text: TextAs = "tf-idf",
    *,
    path: str,
    test: str | None = None,
    test_fraction: Annotated[float, Gt(0), Lt(1)] = 0.2,
    split_seed: int = 0,
    label: str | None = None,
    labels: str | None = None,
    true_label: str | None = None,
    columns: dict[str, Kind] | None = None,
    sep: str | None = None,
    encoding: str | None = None,
    join_labels: bool = False,
    size: int | None = None,
    resize: Resize = "crop",
    memory_gb: Annotated[float, Ge(0)] = DEFAULT_MEMORY_GB,
    disk_gb: Annotated[float, Ge(0)] = DEFAULT_DISK_GB,
    unlabeled: bool = False,
    separator: str | None = None,
) -> Splits:
    """Your own data: a folder of images, a table, arrays, IDX or CIFAR files.

    Mean and standard deviation, or the encoding of a table, are fitted to the training part only.

    Args:
        root: folder that the paths are relative to.
        text: how text columns of a table are read.
        path: the data, in any format that ``read`` knows.
        test: the data to test on, in the same format; by default the test part of ``path`` if there is one, or a share.
        test_fraction: share of the samples to test on, the same of each class.
        split_seed: seed that chooses these samples.
        label: the column of a table, or the array of a ``.npz``, that holds the labels.
        labels: a label file for the samples of ``path``.
        true_label: the column of a table that holds true labels.
        columns: kinds of some columns of a table, instead of the detected ones: "number", "date", "category", "text",
            or "drop" to leave a column out.
        sep: separator of a table, such as ``;`` or ``tab``; detected by default.
        encoding: encoding of the text of a table, such as ``latin-1``; detected by default.
        join_labels: count labels that differ only in case, spaces or punctuation at the ends as one class.
        size: height and width to resize images to.
        resize: how images of other proportions are resized: "crop" the middle, "pad" with gray, or "stretch".
        memory_gb: images that take more gigabytes are read when they are needed.
        disk_gb: gigabytes that such images may take on disk during a training, decoded once; larger sets are decoded
            whenever they are needed.
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
    if several and join_labels:
        raise DataError("join_labels and separator: spellings of candidate labels are not joined; drop one of the two")
    written = {"label": label, "true_label": true_label, "sep": sep, "charset": encoding, "join_labels": join_labels}
    train = read(
        source,
        labels=label_file,
        columns=columns,
        text=text,
        size=size,
        resize=resize,
        memory_gb=memory_gb,
        disk_gb=disk_gb,
        unlabeled=unlabeled,
        drop_unlabeled=True,
        new_classes=several,
        **written,
    )
    if several:
        train = split_names(train, separator)
    if test is None and not has_test_part(source):
        if train.reading.encoding is not None:
            frame = read_frame(source, sep, encoding)
            return split_table(train, frame, test_fraction, split_seed, str(source), text)
        return split(train, test_fraction, split_seed)
    judged = read(
        source if test is None else Path(root, test),
        split="train" if test is not None else "test",
        class_names=None if several else train.class_names,
        encoding=train.reading.encoding,
        size=(train.shape[1], train.shape[2]) if train.is_images else None,
        resize=resize,
        memory_gb=memory_gb,
        disk_gb=disk_gb,
        drop_unlabeled=True,
        **written,
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


def split_table(
    whole: Dataset, frame: "pd.DataFrame", test_fraction: float, seed: int, what: str, text: TextAs = "tf-idf"
) -> Splits:
    """Training and test parts of a table: how columns are read is decided by all rows, the rest by the training part.

    Args:
        frame: the table that the dataset was read from, with all its rows.
        what: name of the table in messages.
    """
    parts, encoding = [], None
    for index in rows(whole.labels, test_fraction, seed):
        part = whole.subset(index)
        assert part.origin is not None
        features = frame.iloc[part.origin.tolist()]
        encoding = encoding or fit_encoding(features, readings=whole.reading.encoding.readings, text=text, what=what)
        reading = Reading(missing=encoding.missing(features), encoding=encoding)
        parts.append(replace(part, inputs=encoding.apply(features, what), reading=reading))
    return Splits(*parts)


def rows(labels: Tensor, test_fraction: float, seed: int) -> tuple[Tensor, Tensor]:
    """Indices of the training samples and of the test samples, each in order."""
    labeled = (labels >= 0).nonzero().squeeze(1)
    held_out = labeled[stratified(labels[labeled], max(1, round(test_fraction * len(labeled))), seed)]
    kept = torch.ones(len(labels), dtype=torch.bool)
    kept[held_out] = False
    return kept.nonzero().squeeze(1), held_out
