"""Losses: (logits, labels) -> the loss of each sample."""

from collections.abc import Callable

from torch import Tensor

from reweigh.losses.cross_entropy import cross_entropy

LOSSES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "cross-entropy": cross_entropy,
}
