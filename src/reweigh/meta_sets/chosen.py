"""Trust samples that somebody chose: a clean file, checked samples, or all that have a label."""

from typing import Annotated

import torch
from annotated_types import Ge
from torch import Tensor

from reweigh.errors import DataError
from reweigh.meta_sets.meta_set import MetaSet


class Clean(MetaSet):
    """All samples of another file or folder like the training data, or samples set apart from it.

    Paper: Sec. 3.2, as in MW-Net.

    Examples:
        >>> Clean(path="checked.csv", label="kind").source
        'checked.csv'

    Args:
        path: File or folder, relative to the data root; None uses samples of the training data that were set apart
            before any bias (``data.clean``).
        label: Name of the label column, if it is a table.
        mixup: Whether trusted batches are mixed in pairs.
        batch_size: Number of samples in a trusted batch; by default as many as a training batch has.
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


class Given(MetaSet):
    """Training samples whose labels were checked, given by their indices.

    Examples:
        >>> Given(index=(4, 7)).choose(torch.zeros(10), None, torch.Generator())
        tensor([4, 7])

    Args:
        index: Indices into the training set.
        mixup: Whether trusted batches are mixed in pairs.
        batch_size: Number of samples in a trusted batch; by default as many as a training batch has.
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


class Labeled(MetaSet):
    """All samples with a label; -1 marks those without. Paper: Sec. 7.2, semi-supervised learning.

    Examples:
        >>> Labeled().choose(torch.tensor([2, -1, 0, -1]), None, torch.Generator())
        tensor([0, 2])

    Args:
        mixup: Whether trusted batches are mixed in pairs.
        batch_size: Number of samples in a trusted batch; by default as many as a training batch has.
    """

    def choose(self, labels: Tensor, losses: Tensor | None, generator: torch.Generator) -> Tensor:
        chosen = (labels >= 0).nonzero().squeeze(1)
        if len(chosen) == 0:
            raise DataError("the meta set is empty: no sample has a label")
        return chosen
