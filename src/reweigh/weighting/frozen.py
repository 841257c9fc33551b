"""Weights from a function that was learned elsewhere and learns no more: the paper's meta-test."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from reweigh.weighting.class_aware import ClassAwareNet


class FrozenWeights:
    """A learned weighting function, used as it is on data with families of their own.

    Families are matched by rank: the rarest classes here meet the curve of the rarest there, and the largest the
    largest. A single family here, with classes all of one size, meets the curve in the middle.

    Args:
        net: the learned function.
        num_families: of the data at hand.
    """

    def __init__(self, net: ClassAwareNet, num_families: int):
        self.net = net.requires_grad_(False)
        self.meet(num_families)

    def meet(self, num_families: int) -> None:
        """From now on the data have this number of families."""
        self._head = curve_of_family(num_families, self.net.num_families)

    def propose(self, losses: Tensor, family: Tensor) -> Tensor:
        raise RuntimeError("a frozen weighting function does not learn")

    @torch.no_grad()
    def __call__(self, losses: Tensor, family: Tensor) -> Tensor:
        return self.net(losses, self._head.to(family.device)[family])

    def learn(self, weights: Tensor, gradient: Tensor, reduce: Callable[[list[Tensor]], None]) -> Tensor:
        raise RuntimeError("a frozen weighting function does not learn")

    def state_dict(self) -> dict[str, Any]:
        return {"net": self.net.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.net.load_state_dict(state["net"])


def curve_of_family(num_families: int, num_curves: int) -> Tensor:
    """Which curve of a net each family meets, shape (num_families,), where there may be fewer families than curves."""
    last = num_curves - 1
    places = torch.linspace(0, last, num_families) if num_families > 1 else torch.tensor([last / 2])
    return places.round().long()
