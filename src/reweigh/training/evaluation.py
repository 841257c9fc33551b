"""The predictions of a model for a dataset, without changing the state of the model."""

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from reweigh.core.batch import Batch
from reweigh.core.candidate_sets import CandidateSets


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

    Computed in eval mode, without gradients; after each chunk every layer is back in the mode that it had.
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
