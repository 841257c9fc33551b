"""What a trained model is judged by: accuracy, overall and by class size, and its errors if it may abstain."""

import torch
from torch import Tensor

from reweigh.data.findings import LONG_TAIL
from reweigh.errors import DataError
from reweigh.selective import LEVELS, area, error_at, risk_coverage


def metrics(logits: Tensor, labels: Tensor, class_sizes: Tensor, scores: Tensor | None = None) -> dict[str, float]:
    """``accuracy``, which decides which epoch was best; ``balanced_accuracy``, the mean over classes; and more.

    If the largest class of the training set has five times the samples of the smallest, also ``head_accuracy``,
    ``middle_accuracy`` and ``tail_accuracy``, the mean class accuracy of the largest third of the classes, of the
    middle and of the smallest third. Thirds, not fixed sizes (the usual 100 and 20 samples), so that it means something
    for small datasets too. A group without a class, or without a test sample, is left out.

    If scores are given, also ``error_at_70`` to ``error_at_100``, the share of wrong predictions among the given
    percentage of samples with the highest scores (selective risk), and ``risk_coverage_area``, the mean of this share
    over all coverages. The smaller, the better.

    Args:
        logits: shape (n, num_classes).
        labels: shape (n,).
        class_sizes: samples of each class in the training set, shape (num_classes,).
        scores: shape (n,), how sure each prediction is, for a model that abstains.

    Raises:
        DataError: there is no sample.
    """
    if len(labels) == 0:
        raise DataError("the set to judge on is empty; give it at least one sample")
    right = logits.argmax(1) == labels
    per_class = class_accuracy(logits, labels)
    numbers = {"accuracy": right.double().mean().item(), "balanced_accuracy": per_class.nanmean().item()}
    if class_sizes.max() >= LONG_TAIL * class_sizes.min():
        ranked = per_class[class_sizes.argsort(descending=True, stable=True)]
        third = max(1, round(len(ranked) / 3))
        groups = {"head": ranked[:third], "middle": ranked[third:-third], "tail": ranked[-third:]}
        numbers |= {f"{name}_accuracy": g.nanmean().item() for name, g in groups.items() if not g.isnan().all()}
    if scores is not None:
        curve = risk_coverage(scores, ~right)
        numbers |= {f"error_at_{level}": error_at(curve, level / 100) for level in LEVELS}
        numbers["risk_coverage_area"] = area(curve)
    return numbers


def class_accuracy(logits: Tensor, labels: Tensor) -> Tensor:
    """The accuracy within each class, shape (num_classes,); NaN for a class without samples."""
    num_classes = logits.shape[1]
    correct = labels[logits.argmax(dim=1) == labels]
    return torch.bincount(correct, minlength=num_classes) / torch.bincount(labels, minlength=num_classes).double()
