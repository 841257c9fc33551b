"""What one training step did."""

from typing import Any, NamedTuple

from torch import Tensor


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
