"""Weights that are free numbers, found anew for every batch: learning to reweight (L2RW)."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor


class FreeWeights:
    """Start each sample of a batch at weight zero, take one step down the meta loss, clip, renormalize.

        v_i = max(0, -d meta / d v_i at 0),   then scaled to a mean of one

    No net and no memory: good weights in this batch teach nothing for the next, and a batch for which nothing was
    learned counts fully. Ren et al., ICML 2018.
    """

    def __init__(self) -> None:
        self._found = torch.empty(0)

    def propose(self, losses: Tensor, family: Tensor) -> Tensor:
        return torch.zeros_like(losses, requires_grad=True)

    def __call__(self, losses: Tensor, family: Tensor) -> Tensor:
        found, self._found = self._found, torch.empty(0)
        return found if len(found) else torch.ones_like(losses)

    def learn(self, weights: Tensor, gradient: Tensor, reduce: Callable[[list[Tensor]], None]) -> Tensor:
        clipped = (-gradient).clamp_min(0)
        total = clipped.sum()
        self._found = clipped * (len(clipped) / total) if total > 0 else clipped
        return gradient.norm()

    def state_dict(self) -> dict[str, Any]:
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        pass
