"""Trust the samples that the user vouches for."""

from typing import Annotated

import torch
from annotated_types import Ge
from torch import Tensor

from reweigh.errors import DataError
from reweigh.meta_sets.meta_set import MetaSet


class Given(MetaSet):
    """Samples of the training set whose labels were checked, by their indices.

    Args:
        index: indices into the training set.
        mixup: whether trusted batches are mixed in pairs.
        batch_size: number of samples in a trusted batch; by default as many as a training batch has.
    """

    vouched = True

    def __init__(
        self,
        *,
        index: tuple[int, ...],
        mixup: bool = False,
        batch_size: Annotated[int, Ge(1)] | None = None,
    ):
        super().__init__(mixup=mixup, batch_size=batch_size)
        self.index = torch.tensor(index, dtype=torch.int64)

    def choose(self, labels: Tensor, losses: Tensor | None, generator: torch.Generator) -> Tensor:
        if len(self.index) == 0:
            raise DataError("the meta set is empty; give the index of at least one checked sample of each class")
        low, high = int(self.index.min()), int(self.index.max())
        if low < 0 or high >= len(labels):
            raise DataError(f"meta set: indices from {low} to {high}, but the training set has {len(labels)} samples")
        return self.index
