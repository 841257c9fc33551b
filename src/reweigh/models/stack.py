"""Several perceptrons of one form computed as one: a few large products instead of many small ones."""

import copy
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from reweigh.models.ensemble import Ensemble, mean_of
from reweigh.models.mlp import SparseLinear

ELEMENTWISE = (nn.ReLU, nn.GELU, nn.SiLU, nn.Tanh, nn.Identity, nn.Dropout, nn.Flatten)


def side_by_side(networks: Sequence[nn.Module]) -> "Ensemble | Stack":
    """The networks as one model that can be trained at once: a ``Stack`` if they are perceptrons, else an ensemble.

    >>> networks = [nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3)) for _ in range(5)]
    >>> type(side_by_side(networks)).__name__, side_by_side(networks).each(torch.randn(2, 4)).shape
    ('Stack', torch.Size([2, 5, 3]))
    """
    return Stack(networks) if len(networks) > 1 and all(map(_is_perceptron, networks)) else Ensemble(networks)


class Stack(nn.Module):
    """The same as ``Ensemble(networks)``, computed for all networks at once; trained, ``networks`` gives them back.

    The activations of all networks stand beside each other, (n, members * width), so that a layer of all networks is
    one layer: linear at first, where all see the same inputs, then linear in blocks.

    Args:
        networks: ``nn.Sequential`` of linear layers, BatchNorm1d, activations and dropout, all of the same form.
    """

    shares: Tensor

    def __init__(self, networks: Sequence[nn.Module]):
        super().__init__()
        self._plain = [copy.deepcopy(networks[0])]  # in a list: not a part of this module
        self.register_buffer("shares", torch.full((len(networks),), 1 / len(networks)))
        layers: list[nn.Module] = []
        shared = True  # whether all networks see the same values
        for together in zip(*networks, strict=True):
            layers.append(_stacked(together, shared))
            shared = shared and not isinstance(together[0], nn.Linear | SparseLinear)
        self.layers = nn.Sequential(*layers)

    def each(self, inputs: Tensor) -> Tensor:
        """The logits of every network, shape (n, members, num_classes)."""
        return self.layers(inputs).unflatten(1, (len(self.shares), -1))

    def forward(self, inputs: Tensor) -> Tensor:
        """Log of the mean probabilities, shape (n, num_classes)."""
        return mean_of(self.each(inputs), self.shares)

    @torch.no_grad()
    def networks(self) -> list[nn.Module]:
        """The networks one by one, as they are now."""
        count = len(self.shares)
        found = [copy.deepcopy(self._plain[0]) for _ in range(count)]
        for layer, *together in zip(self.layers, *found, strict=True):  # type: ignore[arg-type]
            for name, value in layer.state_dict().items():
                if value.dim() == 0:  # a counter
                    parts = [value] * count
                elif isinstance(layer, SparseLinear) and name == "weight":
                    parts = value.chunk(count, 1)
                elif isinstance(layer, Blocks):
                    parts = value.mT.unbind() if name == "weight" else value.chunk(count)
                else:
                    parts = value.chunk(count)
                for network, part in zip(together, parts, strict=True):
                    network.state_dict()[name].copy_(part)
        return found


class Blocks(nn.Module):
    """A linear layer for each network: (n, members * in) -> (n, members * out).

    Args:
        layers: One ``nn.Linear`` per network.
    """

    def __init__(self, layers: Sequence[nn.Linear]):
        super().__init__()
        self.weight = nn.Parameter(torch.stack([layer.weight.detach().mT for layer in layers]))
        self.bias = (
            None if layers[0].bias is None else nn.Parameter(torch.cat([layer.bias.detach() for layer in layers]))
        )

    def forward(self, inputs: Tensor) -> Tensor:
        blocks = inputs.unflatten(1, (len(self.weight), -1)).transpose(0, 1)
        product = torch.bmm(blocks, self.weight).transpose(0, 1).flatten(1)
        return product if self.bias is None else product + self.bias


def _is_perceptron(network: nn.Module) -> bool:
    if type(network) is not nn.Sequential or not all(param.requires_grad for param in network.parameters()):
        return False
    linear = [layer for layer in network if type(layer) in (nn.Linear, SparseLinear)]
    others = [layer for layer in network if type(layer) not in (nn.Linear, SparseLinear, nn.BatchNorm1d, *ELEMENTWISE)]
    normalized = [layer for layer in network if type(layer) is nn.BatchNorm1d]
    hooked = any(layer._forward_hooks or layer._forward_pre_hooks for layer in network.modules())
    after = not normalized or (linear and list(network).index(linear[0]) < list(network).index(normalized[0]))
    return bool(linear and after and not others and not hooked)


def _stacked(layers: Sequence[nn.Module], shared: bool) -> nn.Module:
    """One layer in place of one per network."""
    first = layers[0]
    if isinstance(first, nn.Linear) and not shared:
        return Blocks(layers)  # type: ignore[arg-type]
    if isinstance(first, nn.Linear | SparseLinear | nn.BatchNorm1d):
        wide = copy.deepcopy(first)
        for name, value in first.state_dict().items():
            if value.dim():
                axis = 1 if isinstance(first, SparseLinear) and name == "weight" else 0
                joined = torch.cat([layer.state_dict()[name] for layer in layers], axis)
                held = getattr(wide, name)
                setattr(wide, name, nn.Parameter(joined) if isinstance(held, nn.Parameter) else joined)
        for size in ("out_features", "num_features"):
            if hasattr(wide, size):
                setattr(wide, size, getattr(wide, size) * len(layers))
        return wide
    return copy.deepcopy(first)
