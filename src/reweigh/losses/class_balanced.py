"""Class-balanced losses: a class counts by the inverse of its effective number of samples."""

from typing import Annotated

import torch.nn.functional as F
from annotated_types import Ge, Lt
from torch import Tensor

from reweigh.losses.class_sizes import checked
from reweigh.losses.labels import as_rows


def class_balanced(
    logits: Tensor, labels: Tensor, class_sizes: Tensor | None = None, *, beta: Annotated[float, Ge(0), Lt(1)] = 0.9999
) -> Tensor:
    """Cross-entropy, each class weighted by the inverse of its effective number of samples (Cui et al., CVPR 2019).

    -w_label log p_label;    the loss of a soft label is the weighted mean over its classes.

    Cui, Jia, Lin, Song, Belongie: Class-Balanced Loss Based on Effective Number of Samples, the softmax form.

    Examples:
        >>> import torch
        >>> logits, labels = torch.zeros(2, 2), torch.tensor([0, 1])
        >>> class_balanced(logits, labels, torch.tensor([10, 90]), beta=0.99).round(decimals=2)  # rare ones count more
        tensor([1.1900, 0.1900])

    Args:
        beta: How much rare classes count: 0 is cross-entropy; close to 1, a class is weighted by the inverse of its
            size.
    """
    rows = as_rows(labels, logits) * effective_weights(class_sizes, logits, beta)
    return -(rows * logits.log_softmax(1)).sum(1)


def class_balanced_focal(
    logits: Tensor,
    labels: Tensor,
    class_sizes: Tensor | None = None,
    *,
    beta: Annotated[float, Ge(0), Lt(1)] = 0.9999,
    gamma: Annotated[float, Ge(0)] = 2.0,
) -> Tensor:
    """Focal loss, each class weighted by the inverse of its effective number of samples (Cui et al., CVPR 2019).

    -w_label sum_j (1 - p_j)^gamma log p_j,    p_j = sigmoid(z_j) for the label, sigmoid(-z_j) for every other class

    The loss of a soft label is the weighted mean over its classes.

    Cui, Jia, Lin, Song, Belongie: Class-Balanced Loss Based on Effective Number of Samples. As in the paper, and unlike
    in ``focal``, each class has its own sigmoid. The paper initializes the bias of the last layer to
    -log(num_classes - 1); here this is left to the model.

    Examples:
        >>> import torch
        >>> logits, labels = torch.zeros(2, 2), torch.tensor([0, 1])
        >>> class_balanced_focal(logits, labels, torch.tensor([10, 90]), beta=0.99).round(decimals=2)
        tensor([0.6000, 0.1000])

    Args:
        beta: How much rare classes count: 0 weighs all classes the same; close to 1, a class is weighted by the inverse
            of its size.
        gamma: How much less a confident decision counts; 0 is binary cross-entropy.
    """
    rows = as_rows(labels, logits) * effective_weights(class_sizes, logits, beta)
    others = rows.sum(1, keepdim=True) - rows
    return (rows * _binary(logits, gamma) + others * _binary(-logits, gamma)).sum(1)


def effective_weights(class_sizes: Tensor | None, logits: Tensor, beta: float) -> Tensor:
    """The weight of each class, w_j ~ (1 - beta) / (1 - beta^n_j), scaled to sum to the number of classes.

    Returns:
        Shape (num_classes,), dtype and device of ``logits``, shape (n, num_classes).
    """
    weights = 1 / (1 - beta ** checked(class_sizes, logits))
    return (weights * len(weights) / weights.sum()).to(logits.dtype).to(logits.device)


def _binary(logits: Tensor, gamma: float) -> Tensor:
    """-(1 - p)^gamma log p for p = sigmoid(logits)."""
    return (-gamma * F.softplus(logits)).exp() * F.softplus(-logits)
