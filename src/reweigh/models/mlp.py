"""Multilayer perceptron, for tables and for small images as flat vectors."""

from math import prod
from typing import Annotated

from annotated_types import Ge, Gt, Lt
from torch import nn

from reweigh.errors import ModelError
from reweigh.models.sparse import SparseLinear


def mlp(
    input_shape: tuple[int, ...],
    num_classes: int,
    *,
    hidden: tuple[Annotated[int, Gt(0)], ...] = (256, 256),
    batch_norm: bool = True,
    dropout: Annotated[float, Ge(0), Lt(1)] = 0.0,
    sparse: bool = False,
) -> nn.Module:
    """Flatten, then Linear - BatchNorm - ReLU - Dropout for each hidden layer, then Linear.

    Args:
        input_shape: shape of one sample, of any rank.
        num_classes: number of logits.
        hidden: width of each hidden layer; () gives a linear classifier.
        batch_norm: whether each hidden layer has BatchNorm before its ReLU, instead of a bias.
        dropout: share of hidden units dropped in training.
        sparse: the samples are sparse rows, such as words of a text: the first hidden layer keeps its weights in the
            order in which such rows are multiplied fastest.

    Raises:
        ModelError: a sample has no values.
    """
    width = prod(input_shape)
    if width < 1:
        raise ModelError(f"model 'mlp' needs at least one value per sample, but got the shape {tuple(input_shape)}.")
    layers: list[nn.Module] = [nn.Flatten()]
    linear = SparseLinear if sparse else nn.Linear  # of the first hidden layer
    for size in hidden:
        layers.append(linear(width, size, bias=not batch_norm))
        if batch_norm:
            layers.append(nn.BatchNorm1d(size))
        layers.append(nn.ReLU())
        if dropout:
            layers.append(nn.Dropout(dropout))
        width, linear = size, nn.Linear
    layers.append(nn.Linear(width, num_classes))
    return nn.Sequential(*layers)
