"""Class-balanced cross-entropy: a class counts by the inverse of its effective number of samples."""

from typing import Annotated

from annotated_types import Ge, Lt
from torch import Tensor

from reweigh.losses.class_sizes import checked
from reweigh.losses.labels import as_rows


def class_balanced(
    logits: Tensor, labels: Tensor, class_sizes: Tensor | None = None, *, beta: Annotated[float, Ge(0), Lt(1)] = 0.9999
) -> Tensor:
    """Cross-entropy, a class weighted by the inverse of its effective number of samples (Cui et al., CVPR 2019).

    -w_label log p_label,    with soft labels the mean of that under them.

    Cui, Jia, Lin, Song, Belongie: Class-Balanced Loss Based on Effective Number of Samples, the softmax form.

    Args:
        logits: shape (n, num_classes).
        labels: shape (n,) integers, or (n, num_classes) rows that sum to one.
        class_sizes: samples of each class by given label, shape (num_classes,).
        beta: 0 is cross-entropy; towards 1 a class counts by the inverse of its size.

    Returns:
        Shape (n,).

    Raises:
        DataError: a label is not a class of the model, or a class is empty.
    """
    rows = as_rows(labels, logits) * effective_weights(class_sizes, logits, beta)
    return -(rows * logits.log_softmax(1)).sum(1)


def effective_weights(class_sizes: Tensor | None, logits: Tensor, beta: float) -> Tensor:
    """The weight of each class, w_j ~ (1 - beta) / (1 - beta^n_j), scaled to sum to the number of classes.

    Returns:
        Shape (num_classes,), dtype and device of ``logits``, shape (n, num_classes).
    """
    weights = 1 / (1 - beta ** checked(class_sizes, logits))
    return (weights * len(weights) / weights.sum()).to(logits.dtype).to(logits.device)
