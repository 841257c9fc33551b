"""What loops have: labels in lists, arrays and tensors of any integer type, and a loss of any form."""

from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from reweigh.core.objective import Loss
from reweigh.core.step import Step
from reweigh.errors import DataError, ModelError, RecipeError
from reweigh.losses import LOSSES
from reweigh.names import lookup

MAX_CLASS_NUMBER = 1_000_000  # class numbers up to here are believed, even if there are fewer samples


def as_labels(labels: Any, device: torch.device, what: str) -> Tensor:
    """Integers of 64 bits, shape (n,), or rows of probabilities, shape (n, num_classes).

    A tensor stays on its device; anything else goes to ``device``.

    Args:
        what: Name of the labels in messages.

    Raises:
        DataError: They are not numbers, or not of one of these shapes.
    """
    if not isinstance(labels, Tensor):
        labels = _from_array(labels, what).to(device)
    if labels.dim() == 1 and not labels.is_floating_point():
        return labels.long()
    if labels.dim() == 2:
        return labels if labels.is_floating_point() else labels.float()
    got = f"{labels.dtype} of shape {tuple(labels.shape)}"
    remedy = "; if these are class numbers, pass labels.long()" if labels.dim() == 1 else ""
    raise DataError(
        f"{what}: integers of shape (n,) are needed, or probabilities of shape (n, num_classes); got {got}{remedy}"
    )


def training_labels(labels: Any, counts: Callable[[Tensor], Tensor | None]) -> Tensor:
    """All labels of a training set on the CPU, shape (N,), -1 where they do not count.

    Args:
        counts: Which labels count, None if all do.

    Raises:
        DataError: They are not class numbers.
    """
    found = as_labels(labels, torch.device("cpu"), "labels").cpu()
    if found.dim() != 1 or len(found) == 0:
        raise DataError(f"labels: integers of shape (N,) are needed, one per sample; got shape {tuple(found.shape)}")
    mask = counts(found)
    given = found if mask is None else torch.where(mask, found, -1)
    low, high = int((found if mask is None else found[mask]).min()), int(given.max())
    if low < 0 or high >= max(MAX_CLASS_NUMBER, len(given)):
        raise DataError(
            f"labels: from {low} to {high}; class numbers 0, 1, ... are needed. "
            "np.unique(labels, return_inverse=True)[1] numbers the classes"
        )
    return given


def check_batch(labels: Tensor, device: torch.device, num_classes: int, what: str) -> None:
    """Raise a DataError unless the labels of a batch are on the device of the model, and rows have all classes."""
    if len(labels) == 0:
        raise DataError(f"{what}: the batch is empty, or the loss ignores all of its labels")
    if labels.device != device:
        raise DataError(f"{what} are on {labels.device} but the model is on {device}; move them with .to()")
    if labels.dim() > 1 and labels.shape[1] != num_classes:
        raise DataError(f"{what}: rows of {labels.shape[1]} probabilities for {num_classes} classes")


def _from_array(labels: Any, what: str) -> Tensor:
    try:
        array = np.asarray(labels)
    except ValueError:  # lists of unequal lengths
        array = np.asarray(None, dtype=object)
    if array.dtype.kind not in "biuf":
        first = array.reshape(-1)[:1].tolist()
        such = f", such as {first[0]!r}" if first and first[0] is not None else ""
        raise DataError(
            f"{what}: class numbers 0, 1, ... are needed; got {type(labels).__name__} of {array.dtype}{such}. "
            "np.unique(labels, return_inverse=True)[1] numbers the classes of strings"
        )
    return torch.from_numpy(array.astype(np.float32 if array.dtype.kind == "f" else np.int64))  # a copy in one piece


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
    """The logits in what a model returned: a tensor, or something with ``logits``; a ModelError if there are none."""
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
    return values if mask is None else values[mask]


def scattered(values: Tensor, mask: Tensor | None) -> Tensor:
    """The inverse: values of the samples that count, and zero for the others."""
    return values if mask is None else values.new_zeros(len(mask)).masked_scatter(mask, values)


def spread(step: Step, mask: Tensor | None) -> Step:
    """A step on the samples that count, reported for all of the batch: the others have weight and loss zero."""
    if mask is None:
        return step
    return step._replace(weights=scattered(step.weights, mask), losses=scattered(step.losses, mask))
