"""Shift and scale each channel by given numbers."""

from typing import Annotated

import torch
from annotated_types import Gt
from torch import Tensor

from reweigh.errors import DataError
from reweigh.transforms.compose import InPlace, check_images


class Normalize(InPlace):
    """(x - mean) / std, channel by channel.

    A dataset normalizes its own batches after all transforms; use this for images that need it earlier, and in loops
    without such a dataset.

    Examples:
        >>> Normalize(mean=(0.5,), std=(0.25,))(torch.ones(1, 1, 1, 2), torch.Generator())
        tensor([[[[2., 2.]]]])

    Args:
        mean: Mean of each channel.
        std: Standard deviation of each channel.
    """

    def __init__(self, *, mean: tuple[float, ...], std: tuple[Annotated[float, Gt(0)], ...]) -> None:
        self.mean = torch.tensor(mean).view(-1, 1, 1)
        self.std = torch.tensor(std).view(-1, 1, 1)

    def in_place(self, batch: Tensor, generator: torch.Generator) -> None:
        """Normalize the images; nothing is drawn.

        Raises:
            DataError: The batch does not hold images, or the number of channels differs from that of means.
        """
        check_images("normalize", batch)
        if len(self.mean) != batch.shape[1] or len(self.std) != batch.shape[1]:
            raise DataError(
                f"transform 'normalize' has {len(self.mean)} means and {len(self.std)} deviations, but the images have "
                f"{batch.shape[1]} channels; give one of each per channel."
            )
        batch.sub_(self.mean.to(batch)).div_(self.std.to(batch))
