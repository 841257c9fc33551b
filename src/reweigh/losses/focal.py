"""Focal loss: samples that the model already predicts with confidence count less."""

from typing import Annotated

from annotated_types import Ge
from torch import Tensor

from reweigh.losses.labels import as_rows
from reweigh.losses.log_complement import log_complement


def focal(logits: Tensor, labels: Tensor, *, gamma: Annotated[float, Ge(0)] = 2.0) -> Tensor:
    """Focal loss (Lin et al., ICCV 2017): samples that are predicted with confidence count less.

    -(1 - p)^gamma log p,    p the probability given to the label; with soft labels the mean of that under them.

    Lin, Goyal, Girshick, He, Dollar: Focal Loss for Dense Object Detection, Eq. 4; by softmax over the classes.

    Args:
        gamma: how much less confident samples count; 0 is cross-entropy.
    """
    log_probs = logits.log_softmax(1)
    each = -(gamma * log_complement(log_probs)).exp() * log_probs
    return (as_rows(labels, logits) * each).sum(1)
