"""What every meta set is: a way to choose trusted samples from the training set."""

from typing import Protocol

import torch
from torch import Tensor


class MetaSet(Protocol):
    """Chooses samples to trust, anew in each epoch.

    Attributes:
        reads_losses: the choice depends on the loss of each training sample.
        mixup: the trusted batches are mixed in pairs, for variety.
        batch_size: samples in a trusted batch; None takes as many as a training batch has.
        keep: trusted samples stay in training as well.
    """

    reads_losses: bool
    mixup: bool
    batch_size: int | None
    keep: bool

    def choose(self, labels: Tensor, losses: Tensor | None, generator: torch.Generator) -> Tensor:
        """Places of the trusted samples in the training set.

        Args:
            labels: shape (N,), the given labels.
            losses: shape (N,), of the training samples; None where ``reads_losses`` is false.
        """
        ...
