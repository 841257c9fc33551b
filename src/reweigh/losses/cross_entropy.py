"""Cross-entropy, the loss of the paper and the default everywhere."""

import torch.nn.functional as F
from torch import Tensor

from reweigh.losses.labels import wrong_labels


def cross_entropy(logits: Tensor, labels: Tensor) -> Tensor:
    """-log of the probability given to the label; with soft labels the mean of that under them.

    Args:
        logits: shape (n, num_classes).
        labels: shape (n,) integers, or (n, num_classes) rows that sum to one.

    Returns:
        Shape (n,).

    Raises:
        DataError: a label is not a class of the model.
    """
    try:
        return F.cross_entropy(logits, labels, reduction="none")
    except IndexError:
        raise wrong_labels(labels, logits.shape[1]) from None
