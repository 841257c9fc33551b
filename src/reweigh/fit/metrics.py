"""What a trained model is judged by: accuracy, overall and by class size, and its errors if it may abstain."""

import torch
from torch import Tensor

from reweigh.data.findings import LONG_TAIL
from reweigh.errors import DataError
from reweigh.selective import LEVELS, area, error_at, risk_coverage

MANY, FEW = 100, 20  # training samples of a class
TOP5_FROM = 10  # classes


def metrics(logits: Tensor, labels: Tensor, class_sizes: Tensor, scores: Tensor | None = None) -> dict[str, float]:
    """``accuracy``, which decides which epoch was best; ``balanced_accuracy``, the mean over classes; and more.

    If the largest class of the training set has five times the samples of the smallest, also ``head_accuracy``,
    ``middle_accuracy`` and ``tail_accuracy``, the mean class accuracy of the largest third of the classes, of the
    middle and of the smallest third. Thirds, not fixed sizes (the usual 100 and 20 samples), so that it means something
    for small datasets too; and ``many_shot_accuracy``, ``medium_shot_accuracy`` and ``few_shot_accuracy``, that of
    classes with more than 100, 20 to 100, and fewer than 20 training samples, as for ImageNet-LT. A group without a
    class, or without a test sample, is left out. With more than ten classes also ``top5_accuracy``, the share of
    samples whose class is among the five likeliest.

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
        many, few = class_sizes > MANY, class_sizes < FEW
        groups |= {"many_shot": per_class[many], "medium_shot": per_class[~many & ~few], "few_shot": per_class[few]}
        numbers |= {f"{name}_accuracy": g.nanmean().item() for name, g in groups.items() if not g.isnan().all()}
    if logits.shape[1] > TOP5_FROM:
        numbers["top5_accuracy"] = (logits.topk(5).indices == labels[:, None]).any(1).double().mean().item()
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
