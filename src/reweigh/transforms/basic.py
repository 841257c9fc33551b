"""What a transform is, transforms in sequence, and the usual ones: crop, flip and cutout."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Annotated, Literal, Protocol

import torch
import torch.nn.functional as F
from annotated_types import Ge, Gt, Le
from torch import Tensor

from reweigh.errors import DataError


class Transform(Protocol):
    """A transform of a whole batch of images; the same state of the generator gives the same result."""

    def __call__(self, batch: Tensor, generator: torch.Generator, /) -> Tensor:
        """New float images (n, C, H, W) for float images (n, C, H, W), which are not changed.

        Raises:
            DataError: The batch does not hold images.
        """
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


class PadCrop:
    """Random crop of the padded image to its original size.

    Examples:
        >>> images = torch.rand(8, 3, 32, 32)
        >>> PadCrop(padding=4)(images, torch.Generator().manual_seed(0)).shape
        torch.Size([8, 3, 32, 32])

    Args:
        padding: Pixels added on each side, which is the largest shift.
        mode: "reflect" mirrors the border, as in most runs of CMW-Net; "zero" adds black, as in those with
            feature-dependent noise.
    """

    def __init__(self, *, padding: Annotated[int, Ge(0)] = 4, mode: Literal["reflect", "zero"] = "reflect") -> None:
        self.padding = padding
        self.mode = "constant" if mode == "zero" else mode

    def __call__(self, batch: Tensor, generator: torch.Generator) -> Tensor:
        """The shifted images. Draws the distances from the top, then from the left, of all images.

        Raises:
            DataError: The batch does not hold images, or images are too small for the padding.
        """
        check_images("pad-crop", batch)
        n, _, height, width = batch.shape
        if self.mode == "reflect" and self.padding >= min(height, width):
            raise DataError(
                f"transform 'pad-crop' cannot mirror {self.padding} pixels of images of {height} x {width}; "
                f"use a padding below {min(height, width)}, or mode 'zero'."
            )
        draws = torch.randint(0, 2 * self.padding + 1, (2, n), generator=generator, device=generator.device)
        top, left = draws.to(batch.device)
        padded = F.pad(batch, (self.padding,) * 4, mode=self.mode)
        return _crop(padded, top, left, height, width)


def _crop(padded: Tensor, top: Tensor, left: Tensor, height: int, width: int) -> Tensor:
    """``padded[i, :, top[i] : top[i] + height, left[i] : left[i] + width]`` for every i, stacked.

    Each row of a crop is a run of neighbors in memory, so the crops are rows of a view of all such runs.
    """
    n, channels, rows, columns = padded.shape
    planes = torch.arange(n * channels, device=padded.device).view(n, channels, 1) * (rows * columns)
    corners = (top * columns + left).view(n, 1, 1)
    starts = planes + corners + torch.arange(height, device=padded.device) * columns
    runs = padded.flatten().unfold(0, width, 1)
    return runs.index_select(0, starts.flatten()).view(n, channels, height, width)


class Flip(InPlace):
    """Horizontal flip, drawn for each image; not for digits and letters.

    Examples:
        >>> image = torch.arange(4.0).view(1, 1, 2, 2)
        >>> Flip(probability=1.0)(image, torch.Generator())
        tensor([[[[1., 0.],
                  [3., 2.]]]])

    Args:
        probability: Probability of a flip.
    """

    def __init__(self, *, probability: Annotated[float, Ge(0), Le(1)] = 0.5) -> None:
        self.probability = probability

    def in_place(self, batch: Tensor, generator: torch.Generator) -> None:
        """Mirror some of the images. Draws one uniform number per image; below the probability, it flips."""
        check_images("flip", batch)
        draws = torch.rand(len(batch), generator=generator, device=generator.device)
        chosen = (draws < self.probability).nonzero().squeeze(1).to(batch.device)
        batch.index_copy_(0, chosen, batch.index_select(0, chosen).flip(3))


class Cutout(InPlace):
    """A square around a random pixel is set to one value; parts beyond the border are cut off.

    Examples:
        >>> blanked = Cutout(size=16, fill=0.5)(torch.zeros(1, 1, 32, 32), torch.Generator().manual_seed(0))
        >>> int((blanked == 0.5).sum())  # at most 16 x 16
        256

    Args:
        size: Side of the square in pixels; the paper uses 16 for CIFAR-10 and 8 for CIFAR-100.
        fill: Value of the square. The paper uses the mean, which is near 0.5 for images in [0, 1] that are normalized
            later, and 0 for images that are normalized already.
    """

    def __init__(self, *, size: Annotated[int, Gt(0)] = 16, fill: float = 0.5) -> None:
        self.size = size
        self.fill = fill

    def in_place(self, batch: Tensor, generator: torch.Generator) -> None:
        """Blank out one square of each image. Draws the rows, then the columns, of all centers."""
        check_images("cutout", batch)
        n, _, height, width = batch.shape
        rows = self._covered(n, height, generator).to(batch.device)
        columns = self._covered(n, width, generator).to(batch.device)
        batch.masked_fill_(rows.view(n, 1, height, 1) & columns.view(n, 1, 1, width), self.fill)

    def _covered(self, n: int, length: int, generator: torch.Generator) -> Tensor:
        """Which rows or columns the square of each image covers, shape (n, length)."""
        center = torch.randint(0, length, (n, 1), generator=generator, device=generator.device)
        offset = torch.arange(length, device=generator.device) - (center - self.size // 2)
        return (offset >= 0) & (offset < self.size)
