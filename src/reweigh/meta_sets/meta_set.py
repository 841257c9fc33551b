"""What every meta set is: a way to choose trusted samples."""

from abc import ABC, abstractmethod
from typing import Literal

import torch
from torch import Tensor


class MetaSet(ABC):
    """Chooses samples to trust, anew in each epoch.

    Attributes:
        judge: whose losses the choice depends on: the model's at the start of the epoch, those of its average along
            training, those that the training steps of the epoch before saw, or nobody's.
        source: a file or folder of trusted samples apart from the training set; None chooses from the training set.
        label: the column of a table there that holds the labels.
        mixup: the trusted batches are mixed in pairs, for variety.
        batch_size: samples in a trusted batch; None takes as many as a training batch has.
        keep: trusted samples stay in training as well.
        memory: how much of the losses of earlier epochs stays in those that the choice depends on.
    """

    judge: Literal["model", "average", "training"] | None = None
    source: str | None = None
    label: str | None = None
    memory: float = 0.0

    def __init__(self, *, mixup: bool, batch_size: int | None, keep: bool):
        self.mixup = mixup
        self.batch_size = batch_size
        self.keep = keep

    @abstractmethod
    def choose(self, labels: Tensor, losses: Tensor | None, generator: torch.Generator) -> Tensor:
        """Places of the trusted samples.

        Args:
            labels: shape (N,), the given labels.
            losses: shape (N,), of the samples; None where nobody judges.

        Raises:
            DataError: there is nothing to choose.
        """
