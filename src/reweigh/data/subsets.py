"""Seeded parts of a dataset with the same share of each class, and datasets that keep only some labels."""

import numpy as np
import torch
from torch import Tensor

from reweigh.data.checks import plural
from reweigh.data.dataset import Dataset
from reweigh.data.splits import stratified
from reweigh.errors import DataError


def part(dataset: Dataset, size: int | None, seed: int, what: str = "size") -> Dataset:
    """A stratified part, or the dataset itself if no size is given."""
    if size is None or size == len(dataset):
        return dataset
    return dataset.subset(stratified(dataset.labels, size, seed, what))


def beyond(dataset: Dataset, size: int | None, more: int, seed: int) -> Dataset:
    """A stratified part of ``more`` samples that shares none with the part of ``size``."""
    left = len(dataset) - (len(dataset) if size is None else size)
    if not 0 < more <= left:
        raise DataError(f"held_out: {more}; train_size leaves {left} of {len(dataset)} samples; lower one of the two")
    assert size is not None
    larger, smaller = (stratified(dataset.labels, count, seed) for count in (size + more, size))
    return dataset.subset(larger[~torch.isin(larger, smaller)])


def at_origin(dataset: Dataset, origin: Tensor | None) -> Dataset:
    """The samples of a dataset that come from these rows of its source, which may be fewer; None means all."""
    if origin is None or len(dataset) == len(origin):
        return dataset
    return dataset.subset(torch.isin(dataset.source_rows, origin))


def few_labels(dataset: Dataset, count: int, seed: int) -> Dataset:
    """The same samples, of which ``count`` keep their label, the same number in each class; the others get -1.

    If ``count`` is not a multiple of the number of classes, some classes keep one more. With the same seed, a smaller
    set of labels is part of every larger one. The old labels become the true ones, unless these were known before.

    Args:
        count: Number of labels to keep, at least one per class.
    """
    classes = dataset.num_classes
    if count < classes:
        raise DataError(f"labeled: {count} for {classes} classes; keep at least one label of each class, {classes}")
    generator = np.random.default_rng(seed)
    each = np.full(classes, count // classes)
    each[generator.permutation(classes)[: count % classes]] += 1
    shuffled = torch.from_numpy(generator.permutation(len(dataset)))
    labels = torch.full_like(dataset.labels, -1)
    for number, wanted in enumerate(each.tolist()):
        members = shuffled[dataset.labels[shuffled] == number]
        if len(members) < wanted:
            name = dataset.class_names[number]
            raise DataError(
                f"labeled: {count} labels take {wanted} of class {name!r}, which has {plural(len(members), 'sample')}; "
                "keep fewer"
            )
        labels[members[:wanted]] = number
    return dataset.with_labels(labels)


def with_label(dataset: Dataset) -> Dataset:
    """The samples that have a label."""
    return dataset if bool(dataset.labeled.all()) else dataset.subset(dataset.labeled)
