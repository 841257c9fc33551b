"""Mirror some of the images horizontally."""

from typing import Annotated

import torch
from annotated_types import Ge, Le
from torch import Tensor

from reweigh.transforms.images import check_images


class Flip:
    """Horizontal flip, drawn for each image; not for digits and letters.

    Args:
        probability: probability of a flip.
    """

    def __init__(self, *, probability: Annotated[float, Ge(0), Le(1)] = 0.5) -> None:
        self.probability = probability

    def __call__(self, batch: Tensor, generator: torch.Generator) -> Tensor:
        """The images, some of them mirrored. Draws one uniform number per image; below the probability, it flips.

        Raises:
            DataError: the batch does not hold images.
        """
        result = batch.clone()
        self.in_place(result, generator)
        return result

    def in_place(self, batch: Tensor, generator: torch.Generator) -> None:
        """Like the call, but overwrites ``batch``."""
        check_images("flip", batch)
        draws = torch.rand(len(batch), generator=generator, device=generator.device)
        chosen = (draws < self.probability).nonzero().squeeze(1).to(batch.device)
        batch.index_copy_(0, chosen, batch.index_select(0, chosen).flip(3))
