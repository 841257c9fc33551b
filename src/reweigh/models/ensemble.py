"""Several networks that predict as one."""

import copy
from collections.abc import Iterable, Mapping, Sequence

import torch
from torch import Tensor, nn


class Ensemble(nn.Module):
    """The mean of the probabilities of its members, each with its share; a member without a share is not evaluated.

        logits = log of the sum of share_m softmax(member_m(inputs))

    The number of members is fixed, so that an ensemble can load the weights of another one with different shares.

    Attributes:
        shares: shape (members,), share of each member; a buffer that sums to one.

    Args:
        members: networks of the same form; at first, only the first one has a share.
    """

    shares: Tensor

    def __init__(self, members: Sequence[nn.Module]):
        super().__init__()
        self.members = nn.ModuleList(members)
        self.register_buffer("shares", torch.zeros(len(members)))
        self.register_load_state_dict_post_hook(_after_loading)
        self.share([1.0])

    @classmethod
    def of(cls, model: nn.Module, members: int) -> "Ensemble":
        """An ensemble of this many copies of a model."""
        return cls([copy.deepcopy(model) for _ in range(members)])

    def share(self, shares: Sequence[float]) -> None:
        """Give the first members these shares, the others none."""
        padded = [*shares, *[0.0] * (len(self.members) - len(shares))]
        self.shares.copy_(torch.tensor(padded))
        self._read_shares()

    def _read_shares(self) -> None:
        # as Python numbers: which members are asked must not depend on a tensor when the model is exported
        self._used = [(number, share) for number, share in enumerate(self.shares.tolist()) if share > 0]

    def forward(self, inputs: Tensor) -> Tensor:
        """Logits, shape (n, num_classes): those of the member if only one counts, else log-probabilities."""
        if len(self._used) == 1:
            return self.members[self._used[0][0]](inputs)
        logits = [self.members[number](inputs) for number, _ in self._used]
        # in double precision: what is rounded in single depends on where a sample stands in the batch
        logs = torch.stack(logits).double().log_softmax(2)
        shares = torch.tensor([share for _, share in self._used], dtype=logs.dtype, device=logs.device)
        return (logs + shares.log().view(-1, 1, 1)).logsumexp(0).to(logits[0].dtype)


@torch.no_grad()
def shuffle(parameters: Iterable[Tensor], generator: torch.Generator) -> None:
    """Put the values of each parameter in another order: as well initialized as before, yet another network."""
    for parameter in parameters:
        order = torch.randperm(parameter.numel(), generator=generator).to(parameter.device)
        parameter.copy_(parameter.flatten()[order].view_as(parameter))


def strongest(state: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
    """The weights of the member with the largest share, if these are the weights of an ensemble; else all of them."""
    if "shares" not in state or not any(name.startswith("members.") for name in state):
        return state
    prefix = f"members.{int(state['shares'].argmax())}."
    return {name.removeprefix(prefix): value for name, value in state.items() if name.startswith(prefix)}


def _after_loading(ensemble: Ensemble, _: object) -> None:
    ensemble._read_shares()
