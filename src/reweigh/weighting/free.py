"""Weights that are free numbers, computed for every batch: learning to reweight (L2RW)."""

import torch
from torch import Tensor

from reweigh.core.processes import Reduce
from reweigh.weighting.class_aware import WeightNet


class FreeWeights(WeightNet):
    """No net (L2RW): start the weights of a batch at zero, take one step down the meta loss, clip and renormalize.

        v_i = max(0, -d meta / d v_i at 0),   then scaled to a mean of one

    Nothing is kept from one batch to the next, and a batch for which no weights were computed counts fully. Ren et al.,
    ICML 2018.

    Examples:
        >>> free = FreeWeights()
        >>> free(torch.rand(3), torch.zeros(3, dtype=torch.int64))  # a batch for which nothing was computed
        tensor([1., 1., 1.])
    """

    learns, remembers = True, False

    def __init__(self, *_: int):
        super().__init__()
        self._found = torch.empty(0)

    def propose(self, losses: Tensor, family: Tensor) -> Tensor:
        return torch.zeros_like(losses, requires_grad=True)

    def forward(self, losses: Tensor, family: Tensor) -> Tensor:
        found, self._found = self._found, torch.empty(0)
        return found if len(found) else torch.ones_like(losses)

    def learn(self, weights: Tensor, gradient: Tensor, reduce: Reduce) -> Tensor:
        clipped = (-gradient).clamp_min(0)
        count, total = torch.tensor(float(len(clipped))).to(clipped), clipped.sum()
        reduce([count, total])
        self._found = clipped * (count / total.clamp_min(1e-30))
        return gradient.norm()
