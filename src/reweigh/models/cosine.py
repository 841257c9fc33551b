"""A cosine head: logits are cosines between features and classes, times a scale."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from reweigh.models.last_layer import linear_head

SCALE = 30.0


class CosineLinear(nn.Linear):
    """scale * cos(features, row of the class), in place of a linear layer: no class wins by the length of its row.

    Used by LDAM and SADE, with a scale of 30, which is stored with the weights.
    """

    scale: Tensor

    def __init__(self, linear: nn.Linear, scale: float = SCALE):
        super().__init__(
            linear.in_features, linear.out_features, bias=False, device=linear.weight.device, dtype=linear.weight.dtype
        )
        self.register_buffer("scale", torch.tensor(scale, device=linear.weight.device, dtype=linear.weight.dtype))

    def reset_parameters(self) -> None:
        """Rows in random directions, of length one."""
        with torch.no_grad():
            self.weight.copy_(F.normalize(torch.randn_like(self.weight)))

    def forward(self, input: Tensor) -> Tensor:
        """Logits (n, num_classes) of features (n, width)."""
        return self.scale * F.linear(F.normalize(input), F.normalize(self.weight))


def with_cosine_head(model: nn.Module, scale: float = SCALE) -> nn.Module:
    """The model itself, its last layer replaced by a fresh cosine head of that scale, unless it has one.

    Raises:
        ModelError: the last layer is not linear.
    """
    name, layer = linear_head(model, "a cosine head", "give a model with a linear classifier")
    if isinstance(layer, CosineLinear):
        layer.scale.fill_(scale)
        return model
    if not name:
        return CosineLinear(layer, scale)
    model.set_submodule(name, CosineLinear(layer, scale))
    return model
