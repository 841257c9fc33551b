"""Losses: (logits, labels) -> the loss of each sample, shape (n,).

Logits have shape (n, num_classes); labels are integers, shape (n,), or rows that sum to one, shape (n, num_classes).
Some losses also take ``class_sizes``, the number of training samples of each class by given label. All raise a
DataError if a label is not a class of the model. Keyword-only arguments are options.
"""

from collections.abc import Callable

from torch import Tensor

from reweigh.losses.class_sizes import class_balanced, ldam
from reweigh.losses.cross_entropy import cross_entropy, focal, forward, gce

LOSSES: dict[str, Callable[..., Tensor]] = {
    "cross-entropy": cross_entropy,
    "focal": focal,
    "class-balanced": class_balanced,
    "ldam": ldam,
    "gce": gce,
    "forward": forward,
}

BALANCING = ("class-balanced",)
"""Losses whose logits predict as if all classes were equally frequent."""

__all__ = ["BALANCING", "LOSSES"]
