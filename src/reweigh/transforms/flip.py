"""Mirror some of the images horizontally."""

from typing import Annotated

import torch
from annotated_types import Ge, Le
from torch import Tensor

from reweigh.transforms.compose import InPlace, check_images


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
        """Mirror some of the images. Draws one uniform number per image; below the probability, it flips.

        Raises:
            DataError: The batch does not hold images.
        """
        check_images("flip", batch)
        draws = torch.rand(len(batch), generator=generator, device=generator.device)
        chosen = (draws < self.probability).nonzero().squeeze(1).to(batch.device)
        batch.index_copy_(0, chosen, batch.index_select(0, chosen).flip(3))
