"""Multilayer perceptron, for tables and for small images as flat vectors."""

from math import prod
from typing import Annotated

import torch
import torch.nn.functional as F
from annotated_types import Ge, Gt, Lt
from torch import Tensor, nn

from reweigh.core.sparse import SparseBatch
from reweigh.errors import ModelError

EVEN_WIDTH = 4  # products over other widths are rounded differently in different rows of a batch


def mlp(
    input_shape: tuple[int, ...],
    num_classes: int,
    *,
    hidden: tuple[Annotated[int, Gt(0)], ...] = (256, 256),
    batch_norm: bool = True,
    dropout: Annotated[float, Ge(0), Lt(1)] = 0.0,
    skip: bool = False,
    sparse: bool = False,
) -> nn.Module:
    """Flatten, then Linear - BatchNorm - ReLU - Dropout for each hidden layer, then Linear.

    Examples:
        >>> import torch
        >>> mlp((20,), 3, hidden=(64,))(torch.randn(5, 20)).shape
        torch.Size([5, 3])

    Args:
        input_shape: Shape of one sample, of any rank.
        num_classes: Number of logits.
        hidden: Width of each hidden layer; () gives a linear classifier.
        batch_norm: Whether each hidden layer has BatchNorm before its ReLU, instead of a bias.
        dropout: Share of hidden units dropped in training.
        skip: Whether the last layer also gets the inputs, so that what is linear need not pass through hidden layers.
        sparse: Whether samples are sparse rows, such as word counts of a text; the first hidden layer then stores its
            weights in the order that multiplies such rows fastest.

    Raises:
        ModelError: A sample has no values.
    """
    width = prod(input_shape)
    if width < 1:
        raise ModelError(f"model 'mlp' needs at least one value per sample, but got the shape {tuple(input_shape)}.")
    layers: list[nn.Module] = []
    inputs = width
    linear = SparseLinear if sparse else nn.Linear  # of the first hidden layer
    for size in hidden:
        layers.append(linear(width, size, bias=not batch_norm))
        if batch_norm:
            layers.append(nn.BatchNorm1d(size))
        layers.append(nn.ReLU())
        if dropout:
            layers.append(nn.Dropout(dropout))
        width, linear = size, nn.Linear
    if skip and hidden:
        width += inputs
        return nn.Sequential(nn.Flatten(), Beside(*layers), nn.Linear(width + -width % EVEN_WIDTH, num_classes))
    return nn.Sequential(nn.Flatten(), *layers, nn.Linear(width, num_classes))


class Beside(nn.Sequential):
    """Layers with their inputs beside their outputs, filled up with zeros to a multiple of ``EVEN_WIDTH``.

    >>> Beside(nn.Linear(5, 8), nn.ReLU())(torch.zeros(2, 5)).shape
    torch.Size([2, 16])
    """

    def forward(self, inputs: Tensor) -> Tensor:  # pyright: ignore[reportIncompatibleMethodOverride] (name)
        return beside(inputs, super().forward(inputs))


def beside(inputs: Tensor, outputs: Tensor) -> Tensor:
    """Both in one tensor along the last dimension, filled up with zeros."""
    both = torch.cat([inputs, outputs], -1)
    return F.pad(both, (0, -both.shape[-1] % EVEN_WIDTH))


class SparseLinear(nn.Module):
    """``nn.Linear`` for sparse batches, with the same initial weights.

    Its weight has shape (in_features, out_features). So the weights of one column are next to each other in memory, and
    a product only reads those of the columns in the batch.
    """

    def __init__(self, in_features: int, out_features: int, bias: bool = True):
        super().__init__()
        linear = nn.Linear(in_features, out_features, bias)
        self.weight = nn.Parameter(linear.weight.detach().t().contiguous())
        self.bias = linear.bias

    def forward(self, inputs: Tensor) -> Tensor:
        product = inputs.times(self.weight) if isinstance(inputs, SparseBatch) else torch.mm(inputs, self.weight)
        return product if self.bias is None else product + self.bias

    def extra_repr(self) -> str:
        return f"in_features={self.weight.shape[0]}, out_features={self.weight.shape[1]}, bias={self.bias is not None}"
