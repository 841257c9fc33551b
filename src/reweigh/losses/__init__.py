"""Losses: (logits, labels) -> the loss of each sample; some also take the class sizes as an argument."""

from collections.abc import Callable

from torch import Tensor

from reweigh.losses import bootstrap, class_balanced, cross_entropy, focal, forward, gce, ldam

LOSSES: dict[str, Callable[..., Tensor]] = {
    "cross-entropy": cross_entropy.cross_entropy,
    "focal": focal.focal,
    "class-balanced": class_balanced.class_balanced,
    "class-balanced-focal": class_balanced.class_balanced_focal,
    "ldam": ldam.ldam,
    "gce": gce.gce,
    "forward": forward.forward,
    "bootstrap-soft": bootstrap.bootstrap_soft,
    "bootstrap-hard": bootstrap.bootstrap_hard,
}
