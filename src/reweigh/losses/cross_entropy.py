"""Cross-entropy, the loss of the paper and the default everywhere."""

import torch.nn.functional as F
from torch import Tensor

from reweigh.losses.labels import wrong_labels


def cross_entropy(logits: Tensor, labels: Tensor) -> Tensor:
    """-log of the probability given to the label; with soft labels the mean of that under them."""
    try:
        return F.cross_entropy(logits, labels, reduction="none")
    except IndexError:
        raise wrong_labels(labels, logits.shape[1]) from None
