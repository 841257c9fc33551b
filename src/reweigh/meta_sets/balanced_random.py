"""Trust a random draw with the same number of samples of each class."""

from typing import Annotated

import torch
from annotated_types import Ge
from torch import Tensor

from reweigh.meta_sets.lowest_loss import rank_in_class
from reweigh.meta_sets.meta_set import MetaSet


class BalancedRandom(MetaSet):
    """As many samples of each class as the rarest has, drawn again in each epoch. Paper: Sec. 4.1, for long tails.

    The labels are taken as right; only their unequal numbers are corrected.

    Examples:
        >>> labels = torch.tensor([0, 0, 0, 0, 1, 1])
        >>> chosen = BalancedRandom().choose(labels, None, torch.Generator().manual_seed(0))
        >>> labels[chosen]
        tensor([0, 0, 1, 1])

    Args:
        per_class: Number of samples to draw of each class, or all of a class that has fewer; None draws as many as the
            rarest class has.
        mixup: Whether trusted batches are mixed in pairs.
        batch_size: Number of samples in a trusted batch; by default as many as a training batch has.
    """

    def __init__(
        self,
        *,
        per_class: Annotated[int, Ge(1)] | None = None,
        mixup: bool = False,
        batch_size: Annotated[int, Ge(1)] | None = None,
    ):
        super().__init__(mixup=mixup, batch_size=batch_size)
        self.per_class = per_class

    def choose(self, labels: Tensor, losses: Tensor | None, generator: torch.Generator) -> Tensor:
        sizes = torch.bincount(labels)
        each = self.per_class or int(sizes[sizes > 0].min())
        shuffled = torch.randperm(len(labels), generator=generator)
        grouped = shuffled[labels[shuffled].argsort(stable=True)]
        return grouped[rank_in_class(labels[grouped]) < each].sort().values
