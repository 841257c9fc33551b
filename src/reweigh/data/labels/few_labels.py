"""Remove most labels, for experiments with semi-supervised learning."""

import numpy as np
import torch

from reweigh.data.checks import plural
from reweigh.data.dataset import Dataset
from reweigh.errors import DataError


def few_labels(dataset: Dataset, count: int, seed: int) -> Dataset:
    """The same samples, of which ``count`` keep their label, the same number in each class; the others get -1.

    If ``count`` is not a multiple of the number of classes, some classes keep one more. With the same seed, a smaller
    set of labels is part of every larger one. The old labels become the true ones, unless these were known before.

    Args:
        count: number of labels to keep, at least one per class.

    Raises:
        DataError: the count is below the number of classes, or a class has too few samples.
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
