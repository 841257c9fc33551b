"""The linear layer that ends a classifier, the features that enter it, and a cosine head in its place."""

from typing import Any, TypedDict

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from reweigh.core.rerun import last_layer
from reweigh.errors import ModelError

COSINE_SCALE = 30.0


class Needs(TypedDict):
    """For messages: what needs a linear head, and what to do with other models."""

    who: str
    instead: str


def linear_head(model: nn.Module, who: str, instead: str) -> tuple[str, nn.Linear]:
    """The name of the last layer, which is linear, and the layer."""
    named: dict[str, Tensor] = dict(model.named_parameters())
    name = last_layer(model, named) if named else ""
    layer = model.get_submodule(name)
    if not isinstance(layer, nn.Linear):
        raise ModelError(
            f"{who} needs a model that ends in a linear layer, but its last layer is a {type(layer).__name__}; "
            f"{instead}"
        )
    return name, layer


def with_features(
    model: nn.Module, layer: str, *inputs: Any, who: str, instead: str, cut: bool = False, **named: Any
) -> tuple[Tensor, Any]:
    """What enters a layer, shape (n, width), and what the model returns.

    Args:
        cut: Whether the layer reads the features without their graph, so that its gradient ends there.
    """
    entered: list[Tensor] = []

    def watch(_: nn.Module, arguments: tuple[Any, ...]) -> Tensor | None:
        entered.append(arguments[0])
        return arguments[0].detach() if cut else None

    hook = model.get_submodule(layer).register_forward_pre_hook(watch)
    try:
        outputs = model(*inputs, **named)
    finally:
        hook.remove()
    if len(entered) != 1 or entered[0].dim() != 2:
        raise ModelError(f"{who} needs a model whose last layer reads one row of features per sample, once; {instead}")
    return entered[0], outputs


class CosineLinear(nn.Linear):
    """scale * cos(features, row of the class), in place of a linear layer: no class wins by the length of its row.

    Used by LDAM and SADE, with a scale of 30, which is stored with the weights.
    """

    scale: Tensor

    def __init__(self, linear: nn.Linear, scale: float = COSINE_SCALE):
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


def with_cosine_head(model: nn.Module, scale: float = COSINE_SCALE) -> nn.Module:
    """The model itself, its last layer replaced by a fresh cosine head of that scale, unless it has one."""
    name, layer = linear_head(model, "a cosine head", "give a model with a linear classifier")
    if isinstance(layer, CosineLinear):
        layer.scale.fill_(scale)
        return model
    if not name:
        return CosineLinear(layer, scale)
    model.set_submodule(name, CosineLinear(layer, scale))
    return model
