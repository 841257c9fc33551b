"""How often a class is recognized, the number that every scenario here is made of."""

import torch
from torch import Tensor

from reweigh.errors import DataError


def accuracy(logits: Tensor, labels: Tensor) -> float:
    """The share of samples whose largest logit is at their label.

    Args:
        logits: shape (n, num_classes).
        labels: shape (n,).

    Raises:
        DataError: there is no sample.
    """
    if len(labels) == 0:
        raise DataError("the set to judge on is empty; give it at least one sample")
    return (logits.argmax(dim=1) == labels).double().mean().item()


def class_accuracy(logits: Tensor, labels: Tensor) -> Tensor:
    """The accuracy within each class, shape (num_classes,); NaN for a class without samples."""
    num_classes = logits.shape[1]
    correct = labels[logits.argmax(dim=1) == labels]
    return torch.bincount(correct, minlength=num_classes) / torch.bincount(labels, minlength=num_classes).double()
