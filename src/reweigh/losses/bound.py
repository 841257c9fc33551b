"""A loss with all that it needs besides logits and labels."""

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

from torch import Tensor

from reweigh.core.objective import Loss


def bound(loss: Callable[..., Tensor], class_sizes: Tensor, **options: Any) -> Loss:
    """The loss with its options, and with the sizes of the training classes if it names them in its signature.

    Args:
        loss: a member of ``LOSSES``, or one with some options bound already.
        class_sizes: samples of each class by given label, shape (num_classes,).
    """
    if "class_sizes" in inspect.signature(loss).parameters:
        options["class_sizes"] = class_sizes
    return partial(loss, **options)
