"""Generalized cross-entropy: between cross-entropy and mean absolute error, which is more robust to noise."""

from typing import Annotated

from annotated_types import Gt, Le
from torch import Tensor

from reweigh.losses.labels import as_rows


def gce(logits: Tensor, labels: Tensor, *, q: Annotated[float, Gt(0), Le(1)] = 0.7) -> Tensor:
    """Generalized cross-entropy (Zhang & Sabuncu, NeurIPS 2018): between cross-entropy and mean absolute error.

    (1 - p^q) / q,    p the probability given to the label; with soft labels the mean of that under them.

    Zhang, Sabuncu: Generalized Cross Entropy Loss for Training Deep Neural Networks with Noisy Labels; without the
    truncation.

    Args:
        q: close to 0 is cross-entropy; 1 is half the absolute error.
    """
    each = -(q * logits.log_softmax(1)).expm1() / q
    return (as_rows(labels, logits) * each).sum(1)
