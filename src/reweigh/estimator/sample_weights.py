"""How much each sample should count according to the user: ``sample_weight`` times ``class_weight``."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from sklearn.utils.class_weight import compute_class_weight
from torch import Tensor

from reweigh.errors import DataError
from reweigh.estimator.targets import Targets
from reweigh.names import listed


def read_weights(sample_weight: Any, class_weight: Any, targets: Targets) -> Tensor | None:
    """The factor of each sample's loss, shape (N,); None if all are 1.

    Args:
        sample_weight: N numbers of at least zero, or None.
        class_weight: A dict from class to weight, or "balanced": N / (num_classes * N_class). It is 1 for samples
            without a label, and the mean over the candidates of a sample.
    """
    if not isinstance(class_weight, Mapping | None) and str(class_weight) != "balanced":
        raise DataError(f"class_weight: got {class_weight!r}; pass a dict from class to weight, or 'balanced'")
    samples = len(targets.labels)
    weights = np.ones(samples) if sample_weight is None else checked(sample_weight, samples)
    if class_weight is not None:
        weights *= by_sample(class_weight, targets)
    if (weights == 1).all():
        return None
    counts = torch.from_numpy(weights > 0)
    if targets.candidates is None:
        counted = targets.labels[counts & (targets.labels >= 0)].unique()
    else:
        counted = targets.candidates.subset(counts).classes.unique()
    if len(counted) == 0:
        raise DataError("sample_weight: all weights are zero; give at least two classes a weight above zero")
    if len(counted) == 1:
        only = targets.classes[int(counted)]
        raise DataError(f"sample_weight: above zero for class {only} only; a classifier needs two classes")
    mean = weights[weights > 0].mean()
    if not 1e-6 <= mean <= 1e6:
        raise DataError(
            f"sample_weight: {mean:.1e} on average. The loss of each sample is multiplied by its weight, so the "
            "network would not learn, or diverge; divide the weights by their mean"
        )
    return torch.from_numpy(weights.astype(np.float32))


def checked(sample_weight: Any, samples: int) -> np.ndarray:
    """The weights as numbers, shape (N,)."""
    try:
        weights = np.array(sample_weight, dtype=np.float64)  # a copy
    except (TypeError, ValueError):
        raise DataError("sample_weight: not numbers; pass one number per sample, at least 0") from None
    if weights.shape != (samples,):
        raise DataError(f"sample_weight: shape {weights.shape} for {samples} samples; pass one number per sample")
    for trouble, wrong in (("NaN or infinite", ~np.isfinite(weights)), ("negative", weights < 0)):
        if wrong.any():
            rows = np.flatnonzero(wrong)
            found = f"{len(rows)} of {samples} are {trouble}: rows {listed(rows)}"
            raise DataError(f"sample_weight: {found}; pass numbers of at least 0")
    return weights


def by_sample(class_weight: Any, targets: Targets) -> np.ndarray:
    """The weight of each sample's class, shape (N,)."""
    if targets.candidates is None:
        labels = targets.labels.numpy()
        labeled = labels[labels >= 0]
        weights = np.ones(len(labels))
        weights[labels >= 0] = by_class(class_weight, targets, targets.classes[labeled])[labeled]
        return weights
    sets, counts = targets.candidates.classes.numpy(), targets.candidates.counts.numpy()
    rows, shares = np.arange(len(counts)).repeat(counts), (1 / counts).repeat(counts)
    if class_weight == "balanced":
        weights = len(counts) / (len(targets.classes) * np.bincount(sets, shares, len(targets.classes)))
    else:
        weights = by_class(class_weight, targets, targets.classes)
    return np.bincount(rows, shares * weights[sets], len(counts))


def by_class(class_weight: Any, targets: Targets, given: np.ndarray) -> np.ndarray:
    """The weight of each class, shape (num_classes,); one for a class that is not among those given."""
    present = np.isin(targets.classes, given)
    weights = np.ones(len(targets.classes))
    weights[present] = compute_class_weight(class_weight, classes=targets.classes[present], y=given)
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise DataError(f"class_weight: {class_weight}; pass numbers of at least 0")
    return weights
