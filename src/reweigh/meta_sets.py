"""Meta sets: which samples of the training set to trust."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal

import torch
from annotated_types import Ge, Lt
from torch import Tensor

from reweigh.errors import DataError

BatchSize = Annotated[int, Ge(1)] | None
Judge = Literal["model", "average", "training"]


@dataclass(eq=False, kw_only=True)
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

    vouched: ClassVar[bool] = False

    mixup: bool = False
    batch_size: BatchSize = None
    judge: Judge | None = field(default=None, init=False)
    source: str | None = field(default=None, init=False)
    label: str | None = field(default=None, init=False)
    memory: float = field(default=0.0, init=False)

    @abstractmethod
    def choose(self, labels: Tensor, losses: Tensor | None, generator: torch.Generator) -> Tensor:
        """Indices of the trusted samples.

        Args:
            labels: Shape (N,), the given labels.
            losses: Shape (N,), losses of the samples; None if ``judge`` is None.

        Raises:
            DataError: There is nothing to choose.
        """


@dataclass(eq=False, kw_only=True)
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

    per_class: Annotated[int, Ge(1)] = 10
    mixup: bool = True
    judge: Judge = "model"  # pyright: ignore[reportIncompatibleVariableOverride] (never None here)
    memory: Annotated[float, Ge(0), Lt(1)] = 0.9

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


@dataclass(eq=False, kw_only=True)
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

    per_class: Annotated[int, Ge(1)] | None = None

    def choose(self, labels: Tensor, losses: Tensor | None, generator: torch.Generator) -> Tensor:
        sizes = torch.bincount(labels)
        each = self.per_class or int(sizes[sizes > 0].min())
        shuffled = torch.randperm(len(labels), generator=generator)
        grouped = shuffled[labels[shuffled].argsort(stable=True)]
        return grouped[rank_in_class(labels[grouped]) < each].sort().values


@dataclass(eq=False, kw_only=True)
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

    vouched: ClassVar[bool] = True

    path: str | None = None
    label: str | None = None

    def __post_init__(self) -> None:
        self.source = self.path

    def choose(self, labels: Tensor, losses: Tensor | None, generator: torch.Generator) -> Tensor:
        return torch.arange(len(labels))


@dataclass(eq=False, kw_only=True)
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

    vouched: ClassVar[bool] = True

    index: tuple[int, ...]

    def choose(self, labels: Tensor, losses: Tensor | None, generator: torch.Generator) -> Tensor:
        if len(self.index) == 0:
            raise DataError("the meta set is empty; give the index of at least one checked sample of each class")
        low, high = min(self.index), max(self.index)
        if low < 0 or high >= len(labels):
            raise DataError(f"meta set: indices from {low} to {high}, but the training set has {len(labels)} samples")
        return torch.tensor(self.index)


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


META_SETS: dict[str, type[MetaSet]] = {
    "lowest-loss": LowestLoss,
    "balanced-random": BalancedRandom,
    "clean": Clean,
    "given": Given,
    "labeled": Labeled,
}
