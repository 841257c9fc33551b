"""Trust samples that were labeled with care, apart from the training set."""

from typing import Annotated

import torch
from annotated_types import Ge
from torch import Tensor

from reweigh.meta_sets.meta_set import MetaSet


class Clean(MetaSet):
    """All samples of another file or folder of the same kind as the training data, or set apart from it.

    Paper: Sec. 3.2, MW-Net's own.

    Args:
        path: the file or folder, relative to the data root; None for samples of the training data that were set apart
            before any bias (``data.clean``).
        label: name of the label column, if it is a table.
        mixup: whether trusted batches are mixed in pairs.
        batch_size: number of samples in a trusted batch; by default as many as a training batch has.
    """

    vouched = True

    def __init__(
        self,
        *,
        path: str | None = None,
        label: str | None = None,
        mixup: bool = False,
        batch_size: Annotated[int, Ge(1)] | None = None,
    ):
        super().__init__(mixup=mixup, batch_size=batch_size)
        self.source = path
        self.label = label

    def choose(self, labels: Tensor, losses: Tensor | None, generator: torch.Generator) -> Tensor:
        return torch.arange(len(labels))
