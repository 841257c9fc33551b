"""Labels that a method guesses: what each sample has, how much it counted, and how their term is phased in."""

import logging
from collections.abc import Sequence
from math import exp

import torch
from torch import Tensor

from reweigh.core.method import Stateful
from reweigh.data import Dataset
from reweigh.names import listed, plural

logger = logging.getLogger(__name__)


class Guesses(Stateful):
    """The latest guessed label of each training sample and its weight.

    Attributes:
        labels: Shape (N,) int64, on the device; -1 before the first guess.

    Args:
        train_set: The training set; its true labels, if known, are only used to report how good the guesses are.
        device: Device of the model.
    """

    state = ("labels", "_weights")

    def __init__(self, train_set: Dataset, device: torch.device | str = "cpu"):
        self._true = None if train_set.true_labels is None else train_set.true_labels.to(device)
        self._given = train_set.labeled
        self.labels = torch.full((len(train_set),), -1, dtype=torch.int64, device=device)
        self._weights = torch.full((len(train_set),), float("nan"), device=device)

    @property
    def weights(self) -> Tensor:
        """Shape (N,); NaN for samples that were never weighed, and for labeled ones: their labels were not weighed."""
        return self._weights.cpu().masked_fill(self._given, float("nan"))

    def note(self, index: Tensor, labels: Tensor, weights: Tensor) -> dict[str, Tensor]:
        """Remember what was trained on, and return numbers to log.

        Args:
            index: Shape (n,), indices of the samples.
            labels: Shape (n,), their guessed labels.
            weights: Shape (n,), how much each counted.

        Returns:
            ``weight``, the mean weight. If the true labels are known, also ``pseudo_right``, the share of right
            guesses, and ``pseudo_right_weight``, the mean weight with those of wrong guesses set to 0. So the mean
            weight of a right guess is pseudo_right_weight / pseudo_right.
        """
        weights = weights.detach().float()
        self.labels[index], self._weights[index] = labels, weights
        numbers = {"weight": weights.mean()}
        if self._true is not None:
            right = labels == self._true[index]
            numbers |= {"pseudo_right": right.float().mean(), "pseudo_right_weight": (right * weights).mean()}
        return numbers


def sharpened(probabilities: Tensor, temperature: float) -> Tensor:
    """p^(1 / temperature) / sum, for each row p; a temperature below 1 makes the likeliest class likelier."""
    return (probabilities.log() / temperature).softmax(1)


def warn_of_vanished(before: Tensor, after: Tensor, class_names: Sequence[str]) -> None:
    """Warn of classes that no sample has any more: the model no longer learns them.

    Args:
        before: Shape (N,), the labels until now.
        after: Shape (N,), the labels from now on.
    """
    gone: list[int] = sorted(set(before.unique().tolist()) - set(after.unique().tolist()))
    if gone:
        logger.warning(
            "relabeling leaves no sample in %s: %s; replace fewer labels, or train with 'erm' and prior correction",
            plural(len(gone), "class", "classes"),
            listed(class_names[label] for label in gone),
        )


def ramp(epoch: int, epochs: int) -> float:
    """A factor that rises in equal steps from 0 in epoch 0 to 1 after ``epochs``, and stays 1."""
    return epoch / epochs if epoch < epochs else 1.0


def gaussian_ramp(epoch: int, epochs: int) -> float:
    """The same along exp(-5 (1 - t)^2), as in the Pi-model and Mean Teacher."""
    return exp(-5 * (1 - ramp(epoch, epochs)) ** 2)
