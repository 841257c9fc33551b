"""Warn of classes that lose their last sample while labels are replaced."""

import logging
from collections.abc import Sequence

from torch import Tensor

logger = logging.getLogger(__name__)


def warn_of_vanished(before: Tensor, after: Tensor, class_names: Sequence[str]) -> None:
    """Log the classes that some samples had, and that none has any more: the model no longer learns them.

    Args:
        before: shape (N,), the labels until now.
        after: shape (N,), the labels from now on.
    """
    gone: list[int] = sorted(set(before.unique().tolist()) - set(after.unique().tolist()))
    if gone:
        logger.warning(
            "relabeling leaves no sample in %s: %s; replace fewer labels, or train with 'erm' and prior correction",
            "1 class" if len(gone) == 1 else f"{len(gone)} classes",
            ", ".join(class_names[label] for label in gone[:5]) + (", ..." if len(gone) > 5 else ""),
        )
