"""The exponential moving average (EMA) of a model along its training, which predicts more steadily than the model."""

# pyright: reportPrivateImportUsage=false

import copy
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call


class AveragedModel:
    """Exponential moving average of parameters and BatchNorm statistics. Paper: w_WA.

    It has bias correction: after t steps, it is exactly the weighted mean of the t models so far, where each step back
    counts less by a factor of ``decay``. So it is useful from the first step on, and the initial model leaves no trace.

    Args:
        model: Model to average; a copy is kept.
        decay: Decay of the EMA; 0.997 averages over the last few hundred steps, and 1 never changes. May be changed
            during training. Paper: beta.
    """

    def __init__(self, model: nn.Module, decay: float = 0.997):
        self.model = copy.deepcopy(model).requires_grad_(False)
        self.decay = decay
        self._mass = 0.0  # total weight of all models so far; what bias correction divides by

    @torch.no_grad()
    def update(self, model: nn.Module) -> None:
        """Update the average by the current model; counters and other integers are copied."""
        self._mass = self.decay * self._mass + (1 - self.decay)
        if self.decay == 1:
            return
        share = (1 - self.decay) / self._mass
        pairs = list(zip(_tensors(self.model), _tensors(model), strict=True))
        floats = [pair for pair in pairs if pair[0].dtype.is_floating_point]
        torch._foreach_lerp_([mine for mine, _ in floats], [its for _, its in floats], share)
        for mine, its in pairs:
            if not mine.dtype.is_floating_point:
                mine.copy_(its)

    def state_dict(self) -> dict[str, Any]:
        return {"model": self.model.state_dict(), "mass": self._mass, "decay": self.decay}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.model.load_state_dict(state["model"])
        self._mass, self.decay = state["mass"], state["decay"]


def _tensors(model: nn.Module) -> list[Tensor]:
    """Parameters and buffers, each once; torch's own iterators also make their names, which takes longer."""
    found: dict[int, Tensor] = {}
    for module in model.modules():
        for tensors in (module._parameters, module._buffers):
            found |= {id(tensor): tensor for tensor in tensors.values() if tensor is not None}
    return list(found.values())


@torch.no_grad()
def predicted_in_training(model: nn.Module, inputs: Tensor) -> Tensor:
    """Probabilities, shape (n, num_classes), with dropout and the BatchNorm statistics of the batch.

    This forward pass does not change the running statistics, which are averages of those of the model.
    """
    model.train()
    buffers = {name: buffer.clone() for name, buffer in model.named_buffers()}
    return functional_call(model, buffers, (inputs,)).softmax(1)
