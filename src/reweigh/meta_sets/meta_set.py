"""What every meta set is: a way to choose trusted samples."""

from abc import ABC, abstractmethod
from typing import Annotated, Literal

import torch
from annotated_types import Ge
from torch import Tensor


class MetaSet(ABC):
    """Chooses samples to trust, again in each epoch. Trusted samples are also trained on.

    Attributes:
        judge: Which losses the choice depends on: those of the model at the start of the epoch, those of its EMA, or
            those seen in the training steps of the previous epoch; None if it does not depend on losses.
        source: File or folder of trusted samples outside the training set; None chooses from the training set.
        label: Name of the label column, if the source is a table.
        vouched: Whether the user vouches for the labels; otherwise they are only likely to be right.
        mixup: Whether trusted batches are mixed in pairs, for variety.
        batch_size: Number of samples in a trusted batch; None takes as many as a training batch has.
        memory: Momentum of the running average of losses over epochs.
    """

    judge: Literal["model", "average", "training"] | None = None
    source: str | None = None
    label: str | None = None
    vouched: bool = False
    memory: float = 0.0

    def __init__(self, *, mixup: bool = False, batch_size: Annotated[int, Ge(1)] | None = None):
        self.mixup = mixup
        self.batch_size = batch_size

    @abstractmethod
    def choose(self, labels: Tensor, losses: Tensor | None, generator: torch.Generator) -> Tensor:
        """Indices of the trusted samples.

        Args:
            labels: Shape (N,), the given labels.
            losses: Shape (N,), losses of the samples; None if ``judge`` is None.

        Raises:
            DataError: There is nothing to choose.
        """
