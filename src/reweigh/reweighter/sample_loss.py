"""A loss as people have it, such as ``nn.CrossEntropyLoss()``, as the loss of each sample."""

from copy import copy
from typing import Any

from torch import Tensor, nn

from reweigh.core.objective import Loss
from reweigh.core.step import Step
from reweigh.errors import DataError, ModelError, RecipeError
from reweigh.losses import LOSSES
from reweigh.names import lookup


class SampleLoss:
    """(what the model returns, labels) -> the loss of each sample that counts.

    A module with a ``reduction``, as torch's own losses, is used unreduced, with everything else as it is: class
    weights, label smoothing, ``ignore_index``. Such a loss, and those of ``reweigh.losses``, read the logits if the
    model returns more than these; any other function gets what the model returns.

    Args:
        loss: May be reduced if it is a module with a ``reduction``; or a name in ``LOSSES``.
    """

    def __init__(self, loss: Loss | str):
        loss = lookup(LOSSES, loss, "loss") if isinstance(loss, str) else loss
        module = isinstance(loss, nn.Module) and isinstance(getattr(loss, "reduction", None), str)
        if module:
            loss = copy(loss)  # the user's own stays as it is; weights are shared and move with it
            vars(loss)["reduction"] = "none"
        self._loss = loss
        self._reads_logits = module or any(loss is member for member in LOSSES.values())
        self._ignored: int | None = getattr(loss, "ignore_index", None) if module else None

    def counts(self, labels: Tensor) -> Tensor | None:
        """Which labels count, shape (n,) bool; None if all do."""
        if self._ignored is None or labels.dim() > 1:
            return None
        mask = labels != self._ignored
        return None if bool(mask.all()) else mask

    def __call__(self, outputs: Any, labels: Tensor) -> Tensor:
        """Shape (samples that count,)."""
        if self._reads_logits:
            outputs = logits_of(outputs)
            if len(outputs) != len(labels):
                raise DataError(f"the model returned {len(outputs)} rows for {len(labels)} labels; pass one per sample")
        losses = self._loss(outputs, labels)
        if losses.shape != labels.shape[:1]:
            raise RecipeError(
                f"loss returned shape {tuple(losses.shape)} for {len(labels)} samples; it should return one number per "
                f"sample, shape ({len(labels)},). Pass nn.CrossEntropyLoss(), or a function that reduces nothing, such "
                "as functools.partial(F.cross_entropy, reduction='none')"
            )
        return select(losses, self.counts(labels))


def logits_of(outputs: Any) -> Tensor:
    """The logits in what a model returned: a tensor, or something with ``logits``, by attribute or by key.

    Raises:
        ModelError: There are none.
    """
    found = outputs
    if not isinstance(outputs, Tensor):
        found = outputs.get("logits") if hasattr(outputs, "get") else getattr(outputs, "logits", None)
    if isinstance(found, Tensor):
        return found
    raise ModelError(
        f"the model returned {type(outputs).__name__}; logits are needed, as a tensor or as outputs.logits. Pass a "
        "loss that takes what it returns, such as loss=lambda outputs, labels: F.cross_entropy(outputs[0], labels, "
        "reduction='none')"
    )


def select(values: Tensor, mask: Tensor | None) -> Tensor:
    """The values of the samples that count."""
    return values if mask is None else values[mask]


def scattered(values: Tensor, mask: Tensor | None) -> Tensor:
    """The inverse: values of the samples that count, and zero for the others."""
    return values if mask is None else values.new_zeros(len(mask)).masked_scatter(mask, values)


def spread(step: Step, mask: Tensor | None) -> Step:
    """A step on the samples that count, reported for all of the batch: the others have weight and loss zero."""
    if mask is None:
        return step
    return step._replace(weights=scattered(step.weights, mask), losses=scattered(step.losses, mask))
