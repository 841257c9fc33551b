"""The user's own data as a dataset that a recipe can name, split into training and test parts."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import torch
from annotated_types import Ge, Gt, Lt
from torch import Tensor

from reweigh.data.dataset import Dataset, Splits
from reweigh.data.inputs import Standardize, normalize_like
from reweigh.data.labels.label_file import split_names
from reweigh.data.on_demand import DEFAULT_DISK_GB, DEFAULT_MEMORY_GB
from reweigh.data.readers import has_test_part, read_files, reader_of, table
from reweigh.data.readers.image_files import Resize
from reweigh.data.readers.table import filled
from reweigh.data.source import Source, open_source
from reweigh.data.splits import by_chance, equal, first_of, groups_of, joined, near_pictures, stratified
from reweigh.data.tables.decide import ColumnAs, Kind
from reweigh.data.tables.encoding import TextAs, fit_encoding, numbers_parsed
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
    columns: dict[str, Kind | ColumnAs] | None = None,
    sep: str | None = None,
    encoding: str | None = None,
    join_labels: bool = False,
    size: int | None = None,
    resize: Resize = "crop",
    memory_gb: Annotated[float, Ge(0)] = DEFAULT_MEMORY_GB,
    disk_gb: Annotated[float, Ge(0)] = DEFAULT_DISK_GB,
    unlabeled: bool = False,
    separator: str | None = None,
    group: str | None = None,
    votes: str | None = None,
) -> Splits:
    """Your own data: a folder of images, a table, arrays, IDX or CIFAR files.

    Mean and standard deviation, or the encoding of a table, are fitted to the training part only. Samples with equal
    inputs, and those of one group, are in the same part.

    Args:
        root: Folder that the paths are relative to.
        text: How text columns of a table are read.
        path: The data, in any format that ``read`` knows.
        test: The data to test on, in the same format; by default the test part of ``path`` if there is one, or a share.
        test_fraction: Share of the samples to test on, the same of each class.
        split_seed: Seed that chooses these samples.
        label: The column of a table, or the array of a ``.npz``, that holds the labels. Several columns, separated by
            commas, are the labels of several labelers.
        labels: A label file for the samples of ``path``.
        true_label: The column of a table that holds true labels.
        columns: Kinds of some columns of a table, instead of the detected ones: "number", "date", "category", "text",
            or "drop" to leave a column out. ``columns.NAME.gap`` is a number that means a gap there, or a list.
        sep: Separator of a table, such as ``;`` or ``tab``; detected by default.
        encoding: Encoding of the text of a table, such as ``latin-1``; detected by default.
        join_labels: Count spellings of a label, and typing mistakes in it, as one class.
        size: Height and width to resize images to.
        resize: How images of other proportions are resized: "crop" the middle, "pad" with gray, or "stretch".
        memory_gb: Images that take more gigabytes are read when they are needed.
        disk_gb: Gigabytes that such images may take on disk during a training, decoded once; larger sets are decoded
            whenever they are needed.
        unlabeled: Whether a label in a table, an array or a label file may be empty or -1, for a sample without one.
            For methods that also learn from these samples; only labeled samples are held out.
        separator: String between labels where a sample has several candidate labels, such as ``|``.
        group: The column of a table that says which samples belong together, such as patients; no split parts them,
            and nothing is learned from it.
        votes: A file of labels by several labelers, one row per vote (sample, labeler, label), or an export of Label
            Studio, Argilla or Prodigy.

    Raises:
        DataError: The data cannot be read.
    """
    if separator is not None and true_label is not None:
        raise DataError(
            "true_label and separator: true labels are not read next to candidate labels; drop one of the two"
        )
    if separator is not None and join_labels:
        raise DataError("join_labels and separator: spellings of candidate labels are not joined; drop one of the two")
    written = {"label": label, "true_label": true_label, "sep": sep, "encoding": encoding, "join_labels": join_labels}
    source = open_source(
        Path(root, path),
        labels=None if labels is None else Path(root, labels),
        columns=columns,
        separator=separator,
        unlabeled=unlabeled,
        group=group,
        votes=None if votes is None else Path(root, votes),
        **written,
    )
    images = {"resize": resize, "memory_gb": memory_gb, "disk_gb": disk_gb}
    if test is None and not has_test_part(source.path):
        if reader_of(source.path) is table.READER:
            parts = lambda: split_table(source, test_fraction, split_seed, text)  # noqa: E731
            return source.once(("parts", test_fraction, split_seed, text), parts)
        whole = read_files(source, size=size, drop_unlabeled=True, **images)
        return split(one_or_several(whole, separator), test_fraction, split_seed)
    train = read_files(source, text=text, size=size, drop_unlabeled=True, **images)
    train = one_or_several(train, separator)
    judged = read_files(
        open_source(source.path if test is None else Path(root, test), separator=separator, **written),
        split="train" if test is not None else "test",
        class_names=None if separator is not None else train.class_names,
        encoding=train.reading.encoding,
        size=(train.shape[1], train.shape[2]) if train.is_images else None,
        drop_unlabeled=True,
        **images,
    )
    wanted, got = (
        f"{'bytes' if part.dtype == torch.uint8 else 'floats'} of shape {part.shape}" for part in (train, judged)
    )
    if wanted != got:
        raise DataError(f"test: samples are {got}, but the training samples are {wanted}; make them the same")
    names = judged.reading.names and tuple(judged.reading.names[row] for row in judged.source_rows.tolist())
    judged = replace(
        judged, origin=None, reading=replace(judged.reading, names=names)
    )  # its rows are not those of train
    judged = one_or_several(judged, separator, train.class_names)
    return Splits(train, replace(judged, normalize=train.normalize))


def one_or_several(dataset: Dataset, separator: str | None, class_names: Sequence[str] | None = None) -> Dataset:
    """The samples with a set of candidates in place of each label, if a separator is given."""
    return dataset if separator is None else split_names(dataset, separator, class_names)


def split(dataset: Dataset, test_fraction: float, seed: int) -> Splits:
    """Training and test parts with the same share of each class, normalized by the training part."""
    dataset = replace(dataset, groups=joined(groups_of(dataset), near_pictures(dataset)))
    kept, held_out = rows(dataset.labels, test_fraction, seed, dataset.groups)
    train, test = dataset.subset(kept), dataset.subset(held_out)
    if isinstance(dataset.normalize, Standardize) and isinstance(train.inputs, Tensor):
        normalize = normalize_like(train.inputs)
        return Splits(replace(train, normalize=normalize), replace(test, normalize=normalize))
    return Splits(train, test)


def split_table(source: Source, test_fraction: float, seed: int, text: TextAs = "tf-idf") -> Splits:
    """Training and test parts of a table: all rows decide how columns are read, the training part decides the rest."""
    parts, encoding, what = [], None, str(source.path)
    whole = one_or_several(read_files(source, drop_unlabeled=True, encode=False), source.separator)
    frame = numbers_parsed(source.frame(), whole.reading.encoding.readings)
    whole = replace(whole, groups=joined(whole.groups, equal_rows(frame.iloc[whole.source_rows.tolist()], whole)))
    for index in rows(whole.labels, test_fraction, seed, whole.groups):
        part = whole.subset(index)
        assert part.origin is not None
        features = frame.iloc[part.origin.tolist()]
        encoding = encoding or fit_encoding(features, readings=whole.reading.encoding.readings, text=text, what=what)
        reading = replace(whole.reading, missing=filled(encoding, features, what), encoding=encoding)
        parts.append(replace(part, inputs=encoding.apply(features, what), reading=reading))
    return Splits(*parts)


def equal_rows(frame: "pd.DataFrame", dataset: Dataset) -> Tensor | None:
    """The rows of a table that are equal in all columns that are learned from, as groups; see ``copies``.

    Letter case, spaces and punctuation of texts do not count.
    """
    import pandas as pd

    given = dict(frame.items())
    kinds = {read.name: read.kind for read in dataset.reading.encoding.readings if read.kind != "drop"}
    used = [
        given[name].astype(str).str.lower().str.replace(r"\W+", " ", regex=True).str.strip()
        if kind == "text"
        else given[name]
        for name, kind in kinds.items()
    ]
    codes = [pd.factorize(values.astype(str) if values.dtype == object else values)[0] for values in used]
    found = equal(row.tobytes() for row in np.stack(codes, axis=1)) if codes else None
    first = None if found is None else first_of(found).numpy()
    return None if first is None or by_chance((column[first] for column in codes), len(first)) else found


def rows(labels: Tensor, test_fraction: float, seed: int, groups: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Indices of the training samples and of the test samples, each in order."""
    labeled = (labels >= 0).nonzero().squeeze(1)
    size, among = max(1, round(test_fraction * len(labeled))), None if groups is None else groups[labeled]
    held_out = labeled[stratified(labels[labeled], size, seed, "test_fraction", among)]
    kept = torch.ones(len(labels), dtype=torch.bool)
    kept[held_out] = False
    return kept.nonzero().squeeze(1), held_out
