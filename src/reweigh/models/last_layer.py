"""The linear layer that ends a classifier, and the features that enter it."""

from typing import Any, TypedDict

from torch import Tensor, nn

from reweigh.core.scope import last_layer
from reweigh.errors import ModelError


class Needs(TypedDict):
    """Who needs a linear head, and what to do with another model; for messages."""

    who: str
    instead: str


def linear_head(model: nn.Module, who: str, instead: str) -> tuple[str, nn.Linear]:
    """The name of the last layer, which is linear, and the layer.

    Args:
        who: what needs it, for the message.
        instead: what to do with another model, for the message.

    Raises:
        ModelError: it is not linear.
    """
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
        layer: name of the layer, as ``linear_head`` gives it.
        cut: the layer reads the features without their graph, so that its gradient ends there.
        inputs, named: what the model is called with.

    Raises:
        ModelError: the layer does not read one row of features per sample, once.
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
