"""Candidate labels in training, one label each in the test."""

from torch import Tensor

from reweigh.scenarios.accuracy import accuracy, class_accuracy


def partial_labels(logits: Tensor, labels: Tensor, class_sizes: Tensor) -> dict[str, float]:
    """Accuracy and balanced accuracy, where training samples have several candidate labels.

    How often the right candidate was found in training is not seen by the test: the report tells it.

    Args:
        logits: shape (n, num_classes).
        labels: shape (n,); of a test sample with candidates the likeliest of them.
        class_sizes: of the training set, shape (num_classes,); not used.
    """
    balanced = class_accuracy(logits, labels).nanmean().item()
    return {"accuracy": accuracy(logits, labels), "balanced_accuracy": balanced}
