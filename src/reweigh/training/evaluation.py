"""Judge a model on a dataset, without touching its state."""

from collections.abc import Callable
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from reweigh.core.batch import Batch

Judge = Callable[[Tensor, Tensor, Tensor], dict[str, float]]


class Samples(Protocol):
    """What training and evaluation ask of a dataset."""

    @property
    def labels(self) -> Tensor: ...

    def __len__(self) -> int: ...

    def batch(self, index: Tensor, augment: Any = None, generator: Any = None, device: Any = "cpu") -> Batch: ...


def predict(model: nn.Module, dataset: Samples, chunk: int = 1000, device: str | torch.device = "cpu") -> Tensor:
    """The logits of every sample, shape (N, num_classes), on the CPU.

    Computed in eval mode, without gradients, ``chunk`` samples at a time; afterward each layer is back in the mode
    that it had.
    """
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        with torch.no_grad():
            parts = torch.arange(len(dataset)).split(chunk)
            return torch.cat([model(dataset.batch(part, device=device).inputs).cpu() for part in parts])
    finally:
        for module, training in modes:
            module.training = training


def evaluate(
    model: nn.Module,
    dataset: Samples,
    judge: Judge,
    class_sizes: Tensor,
    chunk: int = 1000,
    device: str | torch.device = "cpu",
) -> dict[str, float]:
    """What a scenario's ``judge`` says of the model on a dataset.

    Args:
        judge: a member of SCENARIOS.
        class_sizes: of the training set, shape (num_classes,): what is head and tail is decided by training.
    """
    return judge(predict(model, dataset, chunk, device), dataset.labels, class_sizes)
