"""Trust the samples that have a label, where most have none."""

from typing import Annotated

import torch
from annotated_types import Ge
from torch import Tensor

from reweigh.errors import DataError
from reweigh.meta_sets.meta_set import MetaSet


class Labeled(MetaSet):
    """All samples with a label; -1 marks those without. Paper: Sec. 7.2, semi-supervised learning.

    Args:
        mixup: whether trusted batches are mixed in pairs.
        batch_size: number of samples in a trusted batch; by default as many as a training batch has.
    """

    def __init__(self, *, mixup: bool = False, batch_size: Annotated[int, Ge(1)] | None = None):
        super().__init__(mixup=mixup, batch_size=batch_size)

    def choose(self, labels: Tensor, losses: Tensor | None, generator: torch.Generator) -> Tensor:
        chosen = (labels >= 0).nonzero().squeeze(1)
        if len(chosen) == 0:
            raise DataError("the meta set is empty: no sample has a label")
        return chosen
