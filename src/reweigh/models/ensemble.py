"""Several networks that predict as one; perceptrons of one form are computed at once, in a few large products."""

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence

import torch
from torch import Tensor, nn

from reweigh.models.linear import rebuilt_linear
from reweigh.models.mlp import Beside, SparseLinear, beside
from reweigh.models.trees import rebuilt_trees

ELEMENTWISE = (nn.ReLU, nn.GELU, nn.SiLU, nn.Tanh, nn.Identity, nn.Dropout, nn.Flatten)


class Ensemble(nn.Module):
    """The mean of the probabilities of its members, each with its share.

        logits = log of the sum of share_m softmax(member_m(inputs))

    >>> pair = Ensemble([nn.Linear(4, 3), nn.Linear(4, 3)])
    >>> inputs = torch.randn(5, 4)
    >>> pair.each(inputs).shape, pair(inputs).shape
    (torch.Size([5, 2, 3]), torch.Size([5, 3]))

    Attributes:
        shares: Shape (members,), share of each member; a buffer that sums to one.
    """

    shares: Tensor

    def __init__(self, members: Sequence[nn.Module], shares: Sequence[float] | None = None):
        super().__init__()
        self.members = nn.ModuleList(members)
        even = [1 / len(members)] * len(members)
        self.register_buffer("shares", torch.tensor(even if shares is None else list(shares)))

    @classmethod
    def of(cls, model: nn.Module, members: int) -> "Ensemble":
        """An ensemble of this many copies of a model."""
        return cls([copy.deepcopy(model) for _ in range(members)])

    def each(self, inputs: Tensor) -> Tensor:
        """The logits of every member, shape (n, members, num_classes)."""
        return torch.stack([member(inputs) for member in self.members], 1)

    def forward(self, inputs: Tensor) -> Tensor:
        """Logits, shape (n, num_classes): those of the only member, or else log-probabilities."""
        return mean_of(self.each(inputs), self.shares)

    def networks(self) -> list[nn.Module]:
        """The members."""
        return list(self.members)


class Each(nn.Module):
    """An ensemble that returns the logits of every member, shape (n, members, num_classes), to train all at once."""

    def __init__(self, ensemble: nn.Module):
        super().__init__()
        self.ensemble = ensemble

    def forward(self, inputs: Tensor) -> Tensor:
        return self.ensemble.each(inputs)  # type: ignore[operator] (an Ensemble or a Stack)


def mean_of(each: Tensor, shares: Tensor) -> Tensor:
    """The logarithm of the mean of probabilities, shape (n, num_classes); the logits themselves of a single network."""
    if each.shape[1] == 1:
        return each[:, 0]
    # in double precision: what is rounded in single depends on where a sample stands in the batch
    logs = each.double().log_softmax(2) + shares.double().log()[None, :, None]
    return logs.logsumexp(1).to(each.dtype)


def rebuilt(state: Mapping[str, Tensor], build: Callable[[], nn.Module]) -> nn.Module:
    """A model into which the weights of a file fit: an ensemble of as many networks as it holds, or one network."""
    if not _is_ensemble(state):
        return build()
    members = [member_state(state, number) for number in range(len(state["shares"]))]
    return Ensemble([member_of(its) or build() for its in members])


def member_of(state: Mapping[str, Tensor]) -> nn.Module | None:
    """A classifier that was fitted in one go, into which these weights fit; None if they are those of a network."""
    return rebuilt_trees(state) or rebuilt_linear(state)


def strongest(state: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
    """The weights of the network with the largest share, if these are the weights of an ensemble; else all of them."""
    if not _is_ensemble(state):
        return state
    members = [member_state(state, number) for number in state["shares"].argsort(descending=True, stable=True).tolist()]
    return next((its for its in members if member_of(its) is None), members[0])


def member_state(state: Mapping[str, Tensor], number: int) -> dict[str, Tensor]:
    """The weights of a member of an ensemble."""
    prefix = f"members.{number}."
    return {name.removeprefix(prefix): value for name, value in state.items() if name.startswith(prefix)}


def _is_ensemble(state: Mapping[str, Tensor]) -> bool:
    return "shares" in state and any(name.startswith("members.") for name in state)


@torch.no_grad()
def shuffle(parameters: Iterable[Tensor], generator: torch.Generator) -> None:
    """Put the values of each parameter in another order: as well initialized as before, yet another network."""
    for parameter in parameters:
        order = torch.randperm(parameter.numel(), generator=generator).to(parameter.device)
        parameter.copy_(parameter.flatten()[order].view_as(parameter))


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
        self.layers = nn.Sequential(*_stacked_layers(networks, shared=True))

    def each(self, inputs: Tensor) -> Tensor:
        """The logits of every network, shape (n, members, num_classes)."""
        return self.layers(inputs).unflatten(1, (len(self.shares), -1))

    def forward(self, inputs: Tensor) -> Tensor:
        """Log of the mean probabilities, shape (n, num_classes)."""
        return mean_of(self.each(inputs), self.shares)

    @torch.no_grad()
    def networks(self) -> list[nn.Module]:
        """The networks one by one, as they are now."""
        found = [copy.deepcopy(self._plain[0]) for _ in range(len(self.shares))]
        _take_apart(self.layers, found)
        return found


class BesideEach(nn.Sequential):
    """``Beside`` for several networks: the inputs, which all share, stand beside the outputs of each."""

    def __init__(self, networks: Sequence[nn.Module]):
        super().__init__(*_stacked_layers(networks, shared=True))
        self._members = len(networks)

    def forward(self, inputs: Tensor) -> Tensor:  # pyright: ignore[reportIncompatibleMethodOverride] (name)
        outputs = super().forward(inputs).unflatten(1, (self._members, -1))
        return beside(inputs[:, None].expand(-1, self._members, -1), outputs).flatten(1)


class Blocks(nn.Module):
    """A linear layer for each network: (n, members * in) -> (n, members * out)."""

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
    layers = [each for layer in network for each in (layer if type(layer) is Beside else [layer])]
    linear = [layer for layer in layers if type(layer) in (nn.Linear, SparseLinear)]
    others = [layer for layer in layers if type(layer) not in (nn.Linear, SparseLinear, nn.BatchNorm1d, *ELEMENTWISE)]
    normalized = [layer for layer in layers if type(layer) is nn.BatchNorm1d]
    hooked = any(layer._forward_hooks or layer._forward_pre_hooks for layer in network.modules())
    after = not normalized or (linear and layers.index(linear[0]) < layers.index(normalized[0]))
    late = any(type(layer) is Beside and _mixes(list(network)[:number]) for number, layer in enumerate(network))
    return bool(linear and after and not others and not hooked and not late)


def _mixes(layers: Sequence[nn.Module]) -> bool:
    """Whether networks with these layers no longer see the same values."""
    return any(isinstance(layer, nn.Linear | SparseLinear | Beside) for layer in layers)


def _stacked_layers(networks: Sequence[nn.Module], shared: bool) -> list[nn.Module]:
    """One layer in place of one per network, for all layers.

    Args:
        shared: Whether all networks see the same values.
    """
    layers: list[nn.Module] = []
    for together in zip(*networks, strict=True):  # type: ignore[arg-type] (they are sequences of layers)
        layers.append(_stacked(together, shared))
        shared = shared and not _mixes(together[:1])
    return layers


def _take_apart(layers: nn.Sequential, networks: Sequence[nn.Module]) -> None:
    """Give each network its part of the layers of all."""
    count = len(networks)
    for layer, *together in zip(layers, *networks, strict=True):  # type: ignore[arg-type] (likewise)
        if isinstance(layer, BesideEach):
            _take_apart(layer, together)
            continue
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


def _stacked(layers: Sequence[nn.Module], shared: bool) -> nn.Module:
    """One layer in place of one per network."""
    first = layers[0]
    if isinstance(first, Beside):
        return BesideEach(layers)
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
