"""Labels as rows of probabilities, so that one formula serves both integers and soft labels."""

import torch
from torch import Tensor

from reweigh.errors import DataError


def as_rows(labels: Tensor, logits: Tensor) -> Tensor:
    """One row per sample: the one-hot label, or the soft label unchanged.

    Args:
        labels: Shape (n,) integers, or (n, num_classes) rows that sum to one.
        logits: Shape (n, num_classes); gives dtype and device.

    Returns:
        Shape (n, num_classes).

    Raises:
        DataError: A label is not a class of the model, or the shapes do not match.
    """
    if labels.shape == logits.shape:
        return labels.to(logits.dtype)
    check_shape(labels, logits)
    try:
        return torch.zeros_like(logits).detach().scatter(1, labels.long()[:, None], 1.0)
    except RuntimeError:
        raise wrong_labels(labels, logits.shape[1]) from None


def check_shape(labels: Tensor, logits: Tensor) -> None:
    """Raise a DataError unless there is one integer or one row of probabilities per sample."""
    integers = labels.shape == logits.shape[:1] and not labels.is_floating_point()
    if not integers and labels.shape != logits.shape:
        raise DataError(
            f"labels: shape {tuple(labels.shape)} of {labels.dtype} for logits of shape {tuple(logits.shape)}; "
            f"give integers, shape ({len(logits)},), or rows that sum to one, shape {tuple(logits.shape)}"
        )


def wrong_labels(labels: Tensor, num_classes: int) -> DataError:
    """The error for labels that are not classes of the model."""
    return DataError(
        f"labels from {int(labels.min())} to {int(labels.max())} for a model with {num_classes} outputs; "
        f"labels must be 0 to {num_classes - 1}. Give the model more outputs or renumber the labels"
    )
