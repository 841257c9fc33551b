"""Crop a random part of each image and enlarge it to the size of the image."""

from math import log
from typing import Annotated

import torch
import torch.nn.functional as F
from annotated_types import Gt, Le
from torch import Tensor

from reweigh.transforms.compose import check_images

STRETCH = 4 / 3  # largest change of the aspect ratio (Szegedy et al. 2015)


class ResizedCrop:
    """Random resized crop, bilinear: objects are magnified, shifted and slightly stretched.

    Examples:
        >>> ResizedCrop()(torch.rand(8, 3, 32, 32), torch.Generator().manual_seed(0)).shape
        torch.Size([8, 3, 32, 32])

    Args:
        smallest: Smallest share of the image's area that a part covers; SimCLR uses 0.08.
    """

    def __init__(self, *, smallest: Annotated[float, Gt(0), Le(1)] = 0.08) -> None:
        self.smallest = smallest

    def __call__(self, batch: Tensor, generator: torch.Generator) -> Tensor:
        """The enlarged parts. Draws areas, aspect ratios, vertical and horizontal positions of all images.

        Raises:
            DataError: The batch does not hold images.
        """
        check_images("resized-crop", batch)
        draws = torch.rand(4, len(batch), generator=generator, device=generator.device).to(batch)
        area = self.smallest + (1 - self.smallest) * draws[0]
        most = (-area.log()).clamp(max=log(STRETCH))  # beyond this, a large part would not fit in the image
        stretch = torch.exp((2 * draws[1] - 1) * most)
        height, width = (area / stretch).sqrt(), (area * stretch).sqrt()
        # in a grid the image spans -1 to 1, and a part of length s moves by at most 1 - s to each side
        below, right = (1 - height) * (2 * draws[2] - 1), (1 - width) * (2 * draws[3] - 1)
        none = torch.zeros_like(area)
        rows = [torch.stack([width, none, right], 1), torch.stack([none, height, below], 1)]
        grid = F.affine_grid(torch.stack(rows, 1), list(batch.shape), align_corners=False)
        return F.grid_sample(batch, grid, mode="bilinear", padding_mode="border", align_corners=False)
