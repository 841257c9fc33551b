"""Class-balanced focal loss: one sigmoid a class, weighted by the effective number of samples."""

from typing import Annotated

import torch.nn.functional as F
from annotated_types import Ge, Lt
from torch import Tensor

from reweigh.losses.class_balanced import effective_weights
from reweigh.losses.labels import as_rows


def class_balanced_focal(
    logits: Tensor,
    labels: Tensor,
    class_sizes: Tensor | None = None,
    *,
    beta: Annotated[float, Ge(0), Lt(1)] = 0.9999,
    gamma: Annotated[float, Ge(0)] = 2.0,
) -> Tensor:
    """Focal loss, a class weighted by the inverse of its effective number of samples (Cui et al., CVPR 2019).

    -w_label sum_j (1 - p_j)^gamma log p_j,    p_j = sigmoid(z_j) for the label, sigmoid(-z_j) for every other class

    With soft labels the mean of that under them.

    Cui, Jia, Lin, Song, Belongie: Class-Balanced Loss Based on Effective Number of Samples. As there, and unlike in
    ``focal``, each class has a sigmoid of its own. The bias of the last layer that the paper starts from,
    -log(num_classes - 1), is the model's business.

    Args:
        logits: shape (n, num_classes).
        labels: shape (n,) integers, or (n, num_classes) rows that sum to one.
        class_sizes: samples of each class by given label, shape (num_classes,).
        beta: 0 weighs all classes the same; towards 1 a class counts by the inverse of its size.
        gamma: how much less a decision counts that the model is sure of; 0 is binary cross-entropy.

    Returns:
        Shape (n,).

    Raises:
        DataError: a label is not a class of the model, or a class is empty.
    """
    rows = as_rows(labels, logits) * effective_weights(class_sizes, logits, beta)
    others = rows.sum(1, keepdim=True) - rows
    return (rows * _binary(logits, gamma) + others * _binary(-logits, gamma)).sum(1)


def _binary(logits: Tensor, gamma: float) -> Tensor:
    """-(1 - p)^gamma log p for p = sigmoid(logits)."""
    return (-gamma * F.softplus(logits)).exp() * F.softplus(-logits)
