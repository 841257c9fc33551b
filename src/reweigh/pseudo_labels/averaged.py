"""The average of a model along its training, which judges more steadily than the model itself."""

import copy
from typing import Any

import torch
from torch import nn


class AveragedModel:
    """Exponential moving average of parameters and BatchNorm statistics. Paper: w_WA.

    With bias correction: after t steps it is exactly the mean of all t models so far, each step back counting
    ``decay`` times less; so it is of use from the first step on, and the model it started from leaves no trace.

    Args:
        model: what is averaged; a copy is kept.
        decay: 0.997 averages over the last few hundred steps; 1 stays as it is. May be changed along the way.
            Paper: beta.
    """

    def __init__(self, model: nn.Module, decay: float = 0.997):
        self.model = copy.deepcopy(model).requires_grad_(False)
        self.decay = decay
        self._mass = 0.0  # of all models taken in so far; what bias correction divides by

    @torch.no_grad()
    def update(self, model: nn.Module) -> None:
        """Take the model as it is now into the average; counters and other integers are copied."""
        self._mass = self.decay * self._mass + (1 - self.decay)
        if self.decay == 1:
            return
        share = (1 - self.decay) / self._mass
        ours = [*self.model.parameters(), *self.model.buffers()]
        theirs = [*model.parameters(), *model.buffers()]
        for mine, its in zip(ours, theirs, strict=True):
            if mine.dtype.is_floating_point:
                mine.lerp_(its, share)
            else:
                mine.copy_(its)

    def state_dict(self) -> dict[str, Any]:
        return {"model": self.model.state_dict(), "mass": self._mass, "decay": self.decay}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.model.load_state_dict(state["model"])
        self._mass, self.decay = state["mass"], state["decay"]
