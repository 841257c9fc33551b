"""Losses: (logits, labels) -> the loss of each sample; one that needs the class sizes names them in its signature."""

from collections.abc import Callable

from torch import Tensor

from reweigh.losses.bootstrap_hard import bootstrap_hard
from reweigh.losses.bootstrap_soft import bootstrap_soft
from reweigh.losses.class_balanced import class_balanced
from reweigh.losses.class_balanced_focal import class_balanced_focal
from reweigh.losses.cross_entropy import cross_entropy
from reweigh.losses.focal import focal
from reweigh.losses.forward import forward
from reweigh.losses.gce import gce
from reweigh.losses.ldam import ldam

LOSSES: dict[str, Callable[..., Tensor]] = {
    "cross-entropy": cross_entropy,
    "focal": focal,
    "class-balanced": class_balanced,
    "class-balanced-focal": class_balanced_focal,
    "ldam": ldam,
    "gce": gce,
    "forward": forward,
    "bootstrap-soft": bootstrap_soft,
    "bootstrap-hard": bootstrap_hard,
}
