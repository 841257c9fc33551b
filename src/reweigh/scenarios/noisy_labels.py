"""Wrong labels in training, clean ones in the test: the plain accuracy and the mean over classes."""

from torch import Tensor

from reweigh.scenarios.accuracy import accuracy, class_accuracy


def noisy_labels(logits: Tensor, labels: Tensor, class_sizes: Tensor) -> dict[str, float]:
    """Judge by ``accuracy`` and by ``balanced_accuracy``, the mean over the classes that the test has.

    Args:
        logits: shape (n, num_classes).
        labels: shape (n,).
        class_sizes: of the training set, shape (num_classes,); not used here.
    """
    return {
        "accuracy": accuracy(logits, labels),
        "balanced_accuracy": class_accuracy(logits, labels).nanmean().item(),
    }
