"""What a transform is, and transforms in sequence, with one generator."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor

from reweigh.errors import DataError


class Transform(Protocol):
    """A transform of a whole batch of images; the same state of the generator gives the same result."""

    def __call__(self, batch: Tensor, generator: torch.Generator, /) -> Tensor:
        """New float images (n, C, H, W) for float images (n, C, H, W), which are not changed."""
        ...


class InPlace(ABC):
    """A transform that can also overwrite the batch."""

    def __call__(self, batch: Tensor, generator: torch.Generator) -> Tensor:
        """New images; see ``in_place``."""
        result = batch.clone()
        self.in_place(result, generator)
        return result

    @abstractmethod
    def in_place(self, batch: Tensor, generator: torch.Generator) -> None:
        """Overwrite ``batch``."""


class Compose:
    """Apply transforms in sequence; without transforms, return the batch itself.

    The given batch is not changed. After the first transform the images are a copy, which later transforms overwrite
    if they can: fresh memory would cost as much as the work.
    """

    def __init__(self, transforms: Sequence[Transform]) -> None:
        self.transforms = tuple(transforms)
        self._in_place = tuple(t.in_place if isinstance(t, InPlace) else None for t in self.transforms)

    def __call__(self, batch: Tensor, generator: torch.Generator) -> Tensor:
        result = batch
        for transform, in_place in zip(self.transforms, self._in_place, strict=True):
            if in_place is not None and result is not batch:
                in_place(result, generator)
            else:
                result = transform(result, generator)
        return result


def check_images(transform: str, batch: Tensor) -> None:
    """Check that a batch is floats of shape (n, C, H, W).

    Args:
        transform: Name of the transform in messages.

    Raises:
        DataError: The batch has another number of dimensions, or holds integers.
    """
    if batch.ndim != 4:
        raise DataError(
            f"transform {transform!r} needs images of shape (n, channels, height, width), but the batch has shape "
            f"{tuple(batch.shape)}; leave the transform out for data that are not images."
        )
    if not batch.is_floating_point():
        raise DataError(
            f"transform {transform!r} needs floats, but the batch holds {batch.dtype}; divide bytes by 255 first."
        )
