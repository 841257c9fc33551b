"""The first layer of a model for rows of which most entries are zero, such as counts of words."""

import torch
from torch import Tensor, nn

from reweigh.core.sparse import SparseBatch


class SparseLinear(nn.Module):
    """``nn.Linear`` for sparse batches; starts from the same numbers as ``nn.Linear``.

    Its weight has shape (in_features, out_features): the weights of one column lie together, so a product reads those
    of the columns in the batch and no others.
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
