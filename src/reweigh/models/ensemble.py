"""Several networks that predict as one."""

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence

import torch
from torch import Tensor, nn

from reweigh.models.trees import rebuilt_trees


class Ensemble(nn.Module):
    """The mean of the probabilities of its members, each with its share.

        logits = log of the sum of share_m softmax(member_m(inputs))

    >>> pair = Ensemble([nn.Linear(4, 3), nn.Linear(4, 3)])
    >>> inputs = torch.randn(5, 4)
    >>> pair.each(inputs).shape, pair(inputs).shape
    (torch.Size([5, 2, 3]), torch.Size([5, 3]))

    Attributes:
        shares: Shape (members,), share of each member; a buffer that sums to one.

    Args:
        members: Networks that take the same inputs.
        shares: Share of each; the same by default.
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
    """The logarithm of the mean of probabilities, shape (n, num_classes); the logits themselves of a single network.

    Args:
        each: Logits of every network, shape (n, members, num_classes).
        shares: Share of each, shape (members,).
    """
    if each.shape[1] == 1:
        return each[:, 0]
    # in double precision: what is rounded in single depends on where a sample stands in the batch
    logs = each.double().log_softmax(2) + shares.double().log()[None, :, None]
    return logs.logsumexp(1).to(each.dtype)


def rebuilt(state: Mapping[str, Tensor], build: Callable[[], nn.Module]) -> nn.Module:
    """A model into which the weights of a file fit: an ensemble of as many networks as it holds, or a single network.

    Args:
        build: Makes one network.
    """
    if not _is_ensemble(state):
        return build()
    members = [member_state(state, number) for number in range(len(state["shares"]))]
    return Ensemble([rebuilt_trees(its) or build() for its in members])


def strongest(state: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
    """The weights of the network with the largest share, if these are the weights of an ensemble; else all of them."""
    if not _is_ensemble(state):
        return state
    members = [member_state(state, number) for number in state["shares"].argsort(descending=True, stable=True).tolist()]
    return next((its for its in members if rebuilt_trees(its) is None), members[0])


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
