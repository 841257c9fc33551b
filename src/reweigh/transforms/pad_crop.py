"""Shift each image by a few pixels: pad it, then crop it to its size at a random position."""

from typing import Annotated, Literal

import torch
import torch.nn.functional as F
from annotated_types import Ge
from torch import Tensor

from reweigh.errors import DataError
from reweigh.transforms.compose import check_images


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
