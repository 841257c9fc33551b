"""What a learning step asks of the weights, and what it reports."""

from typing import Any, NamedTuple, Protocol, runtime_checkable

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


class Step(NamedTuple):
    """What one step did.

    Attributes:
        loss: The weighted training loss, scalar.
        weights: Shape (slots,), the weights that were trained with, before normalization.
        losses: Shape (slots,), the unweighted losses that the weight net read.
        meta_loss: The loss on trusted data one step ahead, scalar; None where the weights were not learned.
        outputs: What the model returned for the batch; None if the objective does not say.
        gradient_norms: Of the training loss by the parameters that the look-ahead moves, and of the meta loss by what
            is learned (paper: Theorems 1 and 2); None where the weights were not learned.
    """

    loss: Tensor
    weights: Tensor
    losses: Tensor
    meta_loss: Tensor | None = None
    outputs: Any = None
    gradient_norms: tuple[Tensor, Tensor] | None = None

    def scalars(self) -> dict[str, Tensor]:
        """What to log of it: the loss, the mean weight and, where the weights were learned, how.

        Scalars that stay on the device of the model until ``float`` reads them.
        """
        scalars = {"loss": self.loss, "weight": self.weights.mean()}
        if self.meta_loss is None or self.gradient_norms is None:
            return scalars
        inner, outer = self.gradient_norms
        return {**scalars, "meta_loss": self.meta_loss, "gradient_norm": inner, "meta_gradient_norm": outer}
