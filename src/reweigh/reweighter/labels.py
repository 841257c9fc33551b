"""Labels as loops have them, in lists, arrays and tensors of any integer type, as tensors."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from reweigh.errors import DataError

MANY = 1_000_000  # class numbers up to here are believed, even if there are fewer samples


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
    if low < 0 or high >= max(MANY, len(given)):
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
