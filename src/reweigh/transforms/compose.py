"""Transforms in sequence, with one generator."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor


class Transform(Protocol):
    """A transform of a whole batch of images; the same state of the generator gives the same result."""

    def __call__(self, batch: Tensor, generator: torch.Generator, /) -> Tensor:
        """New float images (n, C, H, W) for float images (n, C, H, W), which are not changed."""
        ...


@runtime_checkable
class InPlace(Transform, Protocol):
    """A transform that can also overwrite the batch."""

    def in_place(self, batch: Tensor, generator: torch.Generator) -> None:
        """Leave in ``batch`` what the call would return."""
        ...


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
