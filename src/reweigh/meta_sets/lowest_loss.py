"""Trust the samples that the model finds easiest, the same number in each class."""

from typing import Annotated, Literal

import torch
from annotated_types import Ge, Lt
from torch import Tensor

from reweigh.errors import DataError
from reweigh.meta_sets.meta_set import MetaSet


class LowestLoss(MetaSet):
    """The samples of lowest loss in each class, chosen again in each epoch. Paper: Sec. 4.2, ten per class, with mixup.

    In your own loop, call ``LowestLoss(per_class=10).choose(labels, reweighter.losses)``; the other arguments are only
    used if ``reweigh`` does the training.

    Examples:
        >>> labels = torch.tensor([0, 0, 0, 1, 1, 1])
        >>> losses = torch.tensor([0.9, 0.1, 0.2, 0.3, 2.0, 0.4])
        >>> LowestLoss(per_class=2).choose(labels, losses)
        tensor([1, 2, 3, 5])

    Args:
        per_class: Number of samples to trust in each class, or all of a class that has fewer.
        mixup: Whether trusted batches are mixed in pairs.
        batch_size: Number of samples in a trusted batch; by default as many as a training batch has.
        judge: Which losses to choose by: those of the "model", those of its EMA ("average"), or those seen in the steps
            of "training", on augmented samples. The last cost nothing; the others cost a pass over the data per epoch.
        memory: Momentum of the running average of losses over epochs. At the end, a model may have memorized wrong
            labels and find them as easy as right ones; in earlier epochs it had not. 0 uses the latest losses, as in
            the paper.
    """

    def __init__(
        self,
        *,
        per_class: Annotated[int, Ge(1)] = 10,
        mixup: bool = True,
        batch_size: Annotated[int, Ge(1)] | None = None,
        judge: Literal["model", "average", "training"] = "model",
        memory: Annotated[float, Ge(0), Lt(1)] = 0.9,
    ):
        super().__init__(mixup=mixup, batch_size=batch_size)
        self.per_class = per_class
        self.judge = judge
        self.memory = memory

    def choose(self, labels: Tensor, losses: Tensor | None, generator: torch.Generator | None = None) -> Tensor:
        if losses is None or losses.shape != labels.shape:
            got = "None" if losses is None else f"shape {tuple(losses.shape)}"
            raise DataError(f"losses: {got} for labels of shape {tuple(labels.shape)}; pass the loss of each sample")
        easiest = losses.argsort(stable=True)
        # a second stable sort, by class, leaves each class in the order of its losses
        grouped = easiest[labels[easiest].argsort(stable=True)]
        return grouped[rank_in_class(labels[grouped]) < self.per_class].sort().values


def rank_in_class(grouped: Tensor) -> Tensor:
    """0, 1, 2, ... within each run of equal labels; ``grouped`` is sorted, shape (N,)."""
    sizes = torch.bincount(grouped)
    starts = sizes.cumsum(0) - sizes
    return torch.arange(len(grouped), device=grouped.device) - starts[grouped]
