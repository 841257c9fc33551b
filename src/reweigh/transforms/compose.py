"""Transforms one after the other, drawing from one generator."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor


class Transform(Protocol):
    """A change of a whole batch of images; the same state of the generator gives the same result."""

    def __call__(self, batch: Tensor, generator: torch.Generator, /) -> Tensor:
        """New images (n, C, H, W), in memory of their own, for floats (n, C, H, W), which stay as they are."""
        ...


@runtime_checkable
class InPlace(Transform, Protocol):
    """A transform that can also write over the batch."""

    def in_place(self, batch: Tensor, generator: torch.Generator) -> None:
        """Leave in ``batch`` what the call would return."""
        ...


class Compose:
    """The first transform, then the second on its result, and so on; without transforms the batch itself.

    The given batch stays as it is. From the first result on the images are our own, and a transform that can writes
    over them: fresh memory would cost as much as the work.
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
