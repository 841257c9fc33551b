"""Take most labels away: what is left to semi-supervised learning."""

import numpy as np
import torch

from reweigh.data.dataset import Dataset
from reweigh.errors import DataError


def few_labels(dataset: Dataset, count: int, seed: int) -> Dataset:
    """The same samples, of which ``count`` keep their label, the same number in each class; the others get -1.

    What does not divide evenly goes to some classes, one more each. Of the same seed the fewer labels are among the
    more. The labels before stay as the true ones, unless those were known.

    Args:
        count: labels to keep, at least one a class.

    Raises:
        DataError: fewer than classes, or a class has not so many samples.
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
                f"labeled: {count} labels are {wanted} of class {name!r}, which has {len(members)} samples; keep fewer"
            )
        labels[members[:wanted]] = number
    return dataset.with_labels(labels)


def with_label(dataset: Dataset) -> Dataset:
    """The samples that have a label."""
    return dataset if bool(dataset.labeled.all()) else dataset.subset(dataset.labeled)
