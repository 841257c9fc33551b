"""Class sizes for the losses that need them: bound to a loss, and checked in it."""

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

from torch import Tensor

from reweigh.core.objective import Loss
from reweigh.errors import DataError


def with_class_sizes(loss: Callable[..., Tensor], class_sizes: Tensor, **options: Any) -> Loss:
    """The loss with its options, and with the class sizes if it has an argument for them.

    Args:
        loss: A member of ``LOSSES``, possibly with some options bound.
        class_sizes: Number of training samples of each class by given label, shape (num_classes,).
    """
    if "class_sizes" in inspect.signature(loss).parameters:
        options["class_sizes"] = class_sizes
    return partial(loss, **options)


def checked(class_sizes: Tensor | None, logits: Tensor) -> Tensor:
    """The sizes in double precision, on their own device.

    Args:
        class_sizes: Number of training samples of each class by given label, shape (num_classes,).
        logits: Shape (n, num_classes).

    Raises:
        DataError: The sizes are missing, are not one per output of the model, or a class is empty.
    """
    if class_sizes is None:
        raise DataError(
            "class_sizes: missing; this loss needs the number of training samples of each class: pass "
            "class_sizes=torch.bincount(train_labels, minlength=num_classes)"
        )
    if class_sizes.shape != logits.shape[1:]:
        raise DataError(
            f"class_sizes: shape {tuple(class_sizes.shape)} for a model with {logits.shape[1]} outputs; "
            f"give one size per output, shape ({logits.shape[1]},)"
        )
    if not bool((class_sizes > 0).all()):
        empty = [number for number, size in enumerate(class_sizes) if not size > 0]  # no tolist() in torch.func of 2.7
        raise DataError(
            f"class_sizes: no samples of class {', '.join(map(str, empty))} of {len(class_sizes)}; every class needs "
            "at least one. Drop the class, or use a loss that does not depend on class sizes"
        )
    return class_sizes.double()
