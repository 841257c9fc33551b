"""Rare classes in training: accuracy overall and in the frequent, middling and rare classes."""

from torch import Tensor

from reweigh.scenarios.accuracy import accuracy, class_accuracy


def long_tail(logits: Tensor, labels: Tensor, class_sizes: Tensor) -> dict[str, float]:
    """Judge by ``accuracy``, ``balanced_accuracy`` and the mean class accuracy of ``head``, ``middle`` and ``tail``.

    The classes are ranked by their size in training: the largest third is the head, the smallest third the tail. Ranks,
    not fixed sizes (the usual 100 and 20 samples), so that it means something for small datasets too. A group
    without a class, or without a test sample, is left out.

    Args:
        logits: shape (n, num_classes).
        labels: shape (n,).
        class_sizes: of the training set, shape (num_classes,).
    """
    per_class = class_accuracy(logits, labels)
    numbers = {"accuracy": accuracy(logits, labels), "balanced_accuracy": per_class.nanmean().item()}
    ranked = per_class[class_sizes.argsort(descending=True, stable=True)]
    third = max(1, round(len(ranked) / 3))
    groups = {"head": ranked[:third], "middle": ranked[third:-third], "tail": ranked[-third:]}
    for name, group in groups.items():
        if not group.isnan().all():
            numbers[f"{name}_accuracy"] = group.nanmean().item()
    return numbers
