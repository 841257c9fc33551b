"""Few labels: judged on test samples, all of them labeled."""

from torch import Tensor

from reweigh.scenarios.accuracy import accuracy, class_accuracy


def few_labels(logits: Tensor, labels: Tensor, class_sizes: Tensor) -> dict[str, float]:
    """Accuracy and balanced accuracy, where most training samples have no label.

    How good pseudo-labels are along training is not seen by the test: methods tell it (``train_pseudo_right``).

    Args:
        logits: shape (n, num_classes).
        labels: shape (n,).
        class_sizes: labeled training samples of each class, shape (num_classes,); not used.
    """
    balanced = class_accuracy(logits, labels).nanmean().item()
    return {"accuracy": accuracy(logits, labels), "balanced_accuracy": balanced}
