"""Predictions and how sure each is, of any model and dataset."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import torch
from torch import Tensor, nn

from reweigh.data import Dataset
from reweigh.fit.metrics import metrics
from reweigh.models.selective import Ranked
from reweigh.training import labels_of, predict


class Scored(NamedTuple):
    """What a model says of n samples.

    Attributes:
        logits: Shape (n, num_classes).
        scores: Shape (n,), float64 in [0, 1]: what the selection head says, if the model has one, or else the largest
            probability. They rank samples for one model; they cannot be compared between models.
        labels: Shape (n,), the labels to judge them by; None if unknown.
    """

    logits: Tensor
    scores: Tensor
    labels: Tensor | None = None

    @property
    def probabilities(self) -> Tensor:
        """Shape (n, num_classes), float32 computed in double precision: each face prints the same digits."""
        return self.logits.double().softmax(1).float()


def scored(model: nn.Module, dataset: Dataset, device: str | torch.device = "cpu") -> Scored:
    """Logits and scores of every sample, on the CPU."""
    both = predict(Ranked(model), dataset, device)
    return Scored(both[:, :-1], both[:, -1].double().sigmoid())


def judged_by(
    test_sets: Mapping[str, Dataset], class_sizes: Tensor, device: torch.device, abstains: bool
) -> Callable[[nn.Module], dict[str, float]]:
    """A function that judges a model on some test sets.

    Args:
        test_sets: By what the names of their numbers begin with; nothing for the main one.
        class_sizes: samples of each class in the training set, shape (num_classes,).
        abstains: whether to report the errors among the surest samples too.
    """

    def judged(model: nn.Module) -> dict[str, float]:
        numbers = {}
        for name, dataset in test_sets.items():
            logits, scores, _ = scored(model, dataset, device)
            found = metrics(logits, labels_of(dataset, logits), class_sizes, scores if abstains else None)
            numbers |= {name + key: value for key, value in found.items()}
        return numbers

    return judged


def device_of(model: nn.Module) -> torch.device:
    """Where a model is."""
    return next((param.device for param in model.parameters()), torch.device("cpu"))
