"""The predictions of a model for a dataset, and their mean along training, which is the evidence about labels."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from reweigh.core.candidates import CandidateSets
from reweigh.core.method import Stateful
from reweigh.core.objective import Batch
from reweigh.pseudo_labels import Predictions, predictions


class Samples(Protocol):
    """What training and evaluation ask of a dataset."""

    @property
    def labels(self) -> Tensor: ...

    @property
    def candidates(self) -> CandidateSets | None: ...

    def __len__(self) -> int: ...

    @property
    def identity(self) -> str: ...

    @property
    def chunk(self) -> int: ...

    def batches(
        self, indices: Sequence[Tensor], augment: Any = None, generator: Any = None, device: Any = "cpu"
    ) -> Iterator[Batch]: ...


def logits(model: nn.Module, dataset: Samples, device: str | torch.device = "cpu") -> Iterator[tuple[Tensor, Tensor]]:
    """Indices and logits of every sample, some samples at a time: shapes (n,) and (n, num_classes), on the CPU.

    Computed in eval mode, without gradients; after each batch every layer is back in the mode that it had.
    """
    for batch in dataset.batches(torch.arange(len(dataset)).split(dataset.chunk), device=device):
        modes = [(module, module.training) for module in model.modules()]
        model.eval()
        try:
            with torch.no_grad():
                outputs = model(batch.inputs).cpu()
        finally:
            for module, training in modes:
                module.training = training
        yield batch.index, outputs


def predict(model: nn.Module, dataset: Samples, device: str | torch.device = "cpu") -> Tensor:
    """The logits of every sample, shape (N, num_classes), on the CPU; see ``logits``."""
    found = torch.empty(0)
    for index, outputs in logits(model, dataset, device):
        if len(found) == 0:  # room for all, not once more for parts of it
            found = outputs.new_empty((len(dataset), *outputs.shape[1:]))
        found[index] = outputs
    return found


def labels_of(dataset: Samples, outputs: Tensor, index: Tensor | None = None) -> Tensor:
    """The labels to judge outputs by, shape (n,); of several candidates the one that the model finds likeliest.

    Args:
        outputs: Shape (n, num_classes).
        index: Shape (n,), which samples these are; all of them by default.
    """
    chosen = slice(None) if index is None else index
    if dataset.candidates is None:
        return dataset.labels[chosen]
    return outputs.where(dataset.candidates[chosen], -torch.inf).argmax(1)


class Record(Protocol):
    """What a training writes down about its samples; the judge puts it back to the epoch that it keeps."""

    def end_epoch(self, epoch: int, model: nn.Module, weights: Callable[[], Tensor | None]) -> None:
        """Called after an epoch, counted from 0; ``weights`` gives those of the samples, if they have any."""

    def look(self, model: nn.Module, weights: Tensor | None = None) -> None:
        """Called with the model of an epoch that the judge keeps."""

    def state_dict(self) -> dict[str, Any]: ...

    def load_state_dict(self, state: dict[str, Any]) -> None: ...


class Classes(Samples, Protocol):
    """Samples of a known number of classes."""

    @property
    def num_classes(self) -> int: ...


class Recall(Stateful, Record):
    """The mean, over some looks along training, of what was predicted for each training sample and of its weight.

    Early looks know little, late ones may have memorized wrong labels; their mean is better than either.

    Attributes:
        looks: how many there were so far.
        predictions: the mean of what was predicted, by index; the given label before the first look.
        losses: shape (N,), the cross-entropy of the given label, or of the likeliest candidate, as of the last look;
            NaN before the first look or without a label.

    Args:
        train_set: looked at without augmentation.
        epochs: how many there are to train.
        looks: number of looks, at the end of epochs that are evenly spread; each costs a forward pass.
        device: of the model.
    """

    state = ("looks", "predictions", "losses", "_weight", "_weighed")

    def __init__(self, train_set: Classes, epochs: int, looks: int = 10, device: str | torch.device = "cpu"):
        self._train_set = train_set
        self._epochs = {epochs * (place + 1) // looks - 1 for place in range(looks)}
        self._device = device
        self.looks = 0
        self.predictions: Predictions = predictions(train_set.labels, train_set.num_classes, 0.0)
        self.losses = torch.full((len(train_set),), float("nan"))
        self._weight = torch.zeros(len(train_set))
        self._weighed = torch.zeros(len(train_set))

    def end_epoch(self, epoch: int, model: nn.Module, weights: Callable[[], Tensor | None]) -> None:
        if epoch in self._epochs:
            self.look(model, weights())

    def look(self, model: nn.Module, weights: Tensor | None = None) -> None:
        """Predict every training sample; with their weights as of now, if they have any."""
        self.predictions.momentum = self.looks / (self.looks + 1)
        self.looks += 1
        for index, outputs in logits(model, self._train_set, self._device):
            self.predictions.update(index, outputs.softmax(1))
            self.losses[index] = self._losses(index, outputs.float())
        if weights is not None:
            known = ~weights.isnan()
            self._weight += torch.where(known, weights, 0.0)
            self._weighed += known

    def _losses(self, index: Tensor, outputs: Tensor) -> Tensor:
        labels = labels_of(self._train_set, outputs, index)
        losses = F.cross_entropy(outputs, labels, reduction="none", ignore_index=-1)
        return torch.where(labels >= 0, losses, torch.nan)

    @property
    def weights(self) -> Tensor | None:
        """The mean weight of each sample, shape (N,), NaN where it never had one; None if no sample had."""
        return self._weight / self._weighed if bool(self._weighed.any()) else None
