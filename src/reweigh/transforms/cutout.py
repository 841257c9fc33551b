"""Blank out a square of each image (DeVries and Taylor 2017)."""

from typing import Annotated

import torch
from annotated_types import Gt
from torch import Tensor

from reweigh.transforms.compose import InPlace, check_images


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
        """Blank out one square of each image. Draws the rows, then the columns, of all centers.

        Raises:
            DataError: The batch does not hold images.
        """
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
