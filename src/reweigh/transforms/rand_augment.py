"""RandAugment (Cubuk et al. 2020): a few random distortions of each image, with kornia."""

from collections.abc import Sequence
from typing import Annotated

import torch
from annotated_types import Gt, Lt
from torch import Tensor

from reweigh.errors import DataError, RecipeError
from reweigh.transforms.compose import Compose, check_images
from reweigh.transforms.cutout import Cutout

SLACK = 1e-3  # for rounding


class RandAugment:
    """Apply some operations of kornia's list, drawn for each image, all with the same magnitude.

    kornia itself draws the operations once per batch, which would invert or rotate all images together; here each
    operation gets the images that drew it. kornia uses torch's global generator, which is seeded from the given one
    during the call and restored afterwards.

    Examples:
        >>> RandAugment(operations=2)(torch.rand(4, 3, 16, 16), torch.Generator().manual_seed(0)).shape  # needs kornia
        torch.Size([4, 3, 16, 16])

    Args:
        operations: Number of operations per image. Paper: N.
        magnitude: Strength of the operations, between 0 and 30. Paper: M.

    Raises:
        RecipeError: Kornia is not installed.
    """

    def __init__(self, *, operations: Annotated[int, Gt(0)] = 2, magnitude: Annotated[int, Gt(0), Lt(30)] = 10) -> None:
        try:
            from kornia.augmentation.auto.rand_augment.rand_augment import RandAugment as OfBatch
            from kornia.augmentation.auto.rand_augment.rand_augment import default_policy
        except (ImportError, RuntimeError) as error:
            raise RecipeError(
                f"transform 'rand-augment' needs kornia, which cannot be imported ({error}); pip install reweigh[image]"
            ) from error
        self.operations = operations
        self._table = [OfBatch(n=1, m=magnitude, policy=[entry]) for entry in default_policy]

    @torch.no_grad()
    def __call__(self, batch: Tensor, generator: torch.Generator) -> Tensor:
        """The distorted images, for images in [0, 1]. Draws the operations of all images, then a seed for kornia.

        Raises:
            DataError: The batch does not hold images, or they do not have 1 or 3 channels, or are not in [0, 1].
        """
        check_images("rand-augment", batch)
        channels = batch.shape[1]
        if channels not in (1, 3):
            raise DataError(f"transform 'rand-augment' needs images of 1 or 3 channels, but these have {channels}.")
        if len(batch) and not (batch.min() > -SLACK and batch.max() < 1 + SLACK):
            raise DataError(
                f"transform 'rand-augment' needs images in [0, 1], but these are in [{batch.min():.3g}, "
                f"{batch.max():.3g}]; store them as bytes, or scale them first."
            )
        shape = (self.operations, len(batch))
        chosen = torch.randint(0, len(self._table), shape, generator=generator, device=generator.device).cpu()
        seed = int(torch.randint(0, 2**62, (), generator=generator, device=generator.device))
        result = batch.expand(-1, 3, -1, -1)  # some operations need colors, and keep gray gray
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(seed)
            for drawn in chosen:
                result = self._apply(result, drawn)
        return result[:, :channels].contiguous()

    def _apply(self, batch: Tensor, drawn: Tensor) -> Tensor:
        """The images, each after the operation whose number is in ``drawn``, shape (n,)."""
        result = torch.empty_like(batch, memory_format=torch.contiguous_format)
        for number in drawn.unique().tolist():
            images = (drawn == number).nonzero().squeeze(1).to(batch.device)
            result[images] = self._table[number](batch[images]).to(batch.dtype)
        return result


def strong(shape: Sequence[int], magnitude: int) -> Compose:
    """RandAugment, then Cutout of half the side, as in FixMatch and UDA, for images of this shape.

    FixMatch draws the magnitude of each distortion; here it is fixed.
    """
    return Compose([RandAugment(magnitude=magnitude), Cutout(size=max(min(shape[1:]) // 2, 1))])
