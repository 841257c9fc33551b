"""Which parameters of a pretrained network are trained again."""

from typing import Literal

from torch import nn
from torch.nn import Parameter

from reweigh.errors import ModelError

Unfreeze = Literal["last-block", "all"]


def unfrozen(module: nn.Module, what: Unfreeze) -> list[Parameter]:
    """The parameters to train: all, or those of the last block and what comes after it.

    A block is the last entry of the outermost list of layers (``Sequential``, ``ModuleList``) that stands last, as
    ``layer4.1`` of a ResNet or ``encoder.layer.11`` of a transformer.

    Raises:
        ModelError: There are no parameters, or no blocks.
    """
    everything = list(module.parameters())
    if not everything:
        raise ModelError("features.unfreeze: the network has no parameters; leave it out")
    if what == "all":
        return everything
    block = last_block(module)
    if block is None:
        raise ModelError('features.unfreeze: the network has no list of layers to take the last of; use "all"')
    first = next(block.parameters())
    return everything[next(place for place, its in enumerate(everything) if its is first) :]


def last_block(module: nn.Module) -> nn.Module | None:
    """The last block of a network; None if it is not made of blocks."""
    children = [child for child in module.children() if next(child.parameters(), None) is not None]
    if isinstance(module, nn.Sequential | nn.ModuleList) and len(children) > 1:
        return children[-1]
    return next((found for child in reversed(children) if (found := last_block(child)) is not None), None)
