"""Which pseudo-label each training sample has, how much it counted, and whether it was right."""

from typing import Any

import torch
from torch import Tensor

from reweigh.data import Dataset


class PseudoLabeled:
    """The latest pseudo-label of each sample and its weight.

    Attributes:
        labels: shape (N,) int64, on the CPU; -1 where there was none yet.

    Args:
        train_set: its true labels, where they are known, only serve to tell how good pseudo-labels are.
    """

    def __init__(self, train_set: Dataset):
        self._true = train_set.true_labels
        self._given = train_set.labeled
        self.labels = torch.full((len(train_set),), -1, dtype=torch.int64)
        self._weights = torch.full((len(train_set),), float("nan"))

    @property
    def weights(self) -> Tensor:
        """Shape (N,), NaN where a sample was never weighed, or has a label: not that one was weighed."""
        return self._weights.masked_fill(self._given, float("nan"))

    def note(self, index: Tensor, labels: Tensor, weights: Tensor) -> dict[str, float]:
        """Remember what was trained on, and return numbers to log.

        Args:
            index: shape (n,), places of the samples.
            labels: shape (n,), their pseudo-labels.
            weights: shape (n,), how much each counted.

        Returns:
            ``weight``, the mean; where the truth is known also ``pseudo_right``, the share of right pseudo-labels, and
            ``pseudo_right_weight``, the mean of weights of which those of wrong ones are set to 0. So the mean weight
            of a right pseudo-label is pseudo_right_weight / pseudo_right.
        """
        index, labels, weights = index.cpu(), labels.cpu(), weights.detach().float().cpu()
        self.labels[index], self._weights[index] = labels, weights
        numbers = {"weight": weights.mean()}
        if self._true is not None:
            right = labels == self._true[index]
            numbers |= {"pseudo_right": right.float().mean(), "pseudo_right_weight": (right * weights).mean()}
        return {name: float(number) for name, number in numbers.items()}

    def state_dict(self) -> dict[str, Any]:
        return {"labels": self.labels, "weights": self._weights}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.labels, self._weights = state["labels"].clone(), state["weights"].clone()
