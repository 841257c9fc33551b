"""A fitted linear classifier as a module."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from reweigh.core.sparse import SparseBatch
from reweigh.models.trees import ABSENT


class LinearRows(nn.Module):
    """Rows of numbers, also sparse ones, to logits: ``rows @ weight + offset``.

    Attributes:
        weight: Shape (F, C); a buffer, because it was fitted and is not trained.
        offset: Shape (C,).
    """

    weight: Tensor
    offset: Tensor

    def __init__(self, features: int, num_classes: int):
        super().__init__()
        self.register_buffer("weight", torch.zeros(features, num_classes))
        self.register_buffer("offset", torch.full((num_classes,), ABSENT))

    def fill(self, coefficients: Tensor, intercepts: Tensor, classes: Tensor) -> None:
        """Take over what was fitted for these classes; shapes (k, F), (k,) and (k,)."""
        self.weight[:, classes] = coefficients.t().to(self.weight)
        self.offset[classes] = intercepts.to(self.offset)

    def forward(self, inputs: Tensor) -> Tensor:
        if isinstance(inputs, SparseBatch):
            return inputs.times(self.weight) + self.offset
        return inputs.flatten(1).to(self.weight) @ self.weight + self.offset


def rebuilt_linear(state: Mapping[str, Tensor]) -> LinearRows | None:
    """A linear classifier that fits this state; None if it is that of another module."""
    if state.keys() != {"weight", "offset"}:
        return None
    return LinearRows(*state["weight"].shape)
