"""Losses: (logits, labels) -> the loss of each sample, shape (n,).

Logits have shape (n, num_classes); labels are integers, shape (n,), or rows that sum to one, shape (n, num_classes).
Some losses also take ``class_sizes``, the number of training samples of each class by given label. All raise a
DataError if a label is not a class of the model. Keyword-only arguments are options.
"""

from collections.abc import Callable

from torch import Tensor

from reweigh.losses import bootstrap, class_balanced, cross_entropy, focal, forward, gce, ldam, logit_adjustment

LOSSES: dict[str, Callable[..., Tensor]] = {
    "cross-entropy": cross_entropy.cross_entropy,
    "focal": focal.focal,
    "class-balanced": class_balanced.class_balanced,
    "class-balanced-focal": class_balanced.class_balanced_focal,
    "ldam": ldam.ldam,
    "logit-adjustment": logit_adjustment.logit_adjustment,
    "gce": gce.gce,
    "forward": forward.forward,
    "bootstrap-soft": bootstrap.bootstrap_soft,
    "bootstrap-hard": bootstrap.bootstrap_hard,
}
