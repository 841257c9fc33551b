"""What gives samples their weights: a weight net, or weights computed anew for each batch."""

from typing import Any, Protocol, runtime_checkable

from torch import Tensor

from reweigh.core.processes import Reduce


@runtime_checkable
class Weigher(Protocol):
    """Whatever gives samples their weights, and can be taught to give better ones.

    Attributes:
        learns: False if the weights are fixed.
        remembers: What was learned from one batch serves the next; otherwise only a virtual look-ahead makes sense.
    """

    learns: bool
    remembers: bool

    def propose(self, losses: Tensor, family: Tensor) -> Tensor:
        """Weights for the look-ahead, with a graph to whatever is learned; shapes (slots,)."""
        ...

    def __call__(self, losses: Tensor, family: Tensor) -> Tensor:
        """Weights to train with; shapes (slots,), no graph."""
        ...

    def learn(self, weights: Tensor, gradient: Tensor, reduce: Reduce) -> Tensor:
        """Improve by ``gradient``, that of the meta loss with respect to the (normalized) proposed ``weights``.

        Returns:
            The norm of the gradient of whatever is learned.
        """
        ...

    def state_dict(self) -> dict[str, Any]:
        """All that a resumed training needs."""
        ...

    def load_state_dict(self, state: dict[str, Any], /) -> Any:
        """Continue as if never interrupted."""
        ...
