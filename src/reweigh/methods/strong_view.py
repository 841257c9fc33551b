"""Strongly distorted views of training images, which should be classified as the images themselves are."""

from torch import Tensor

from reweigh.data import Inputs
from reweigh.errors import DataError
from reweigh.methods.setup import Setup
from reweigh.transforms import Compose, Cutout, RandAugment, Transform


class StrongView:
    """The transforms of the recipe, then RandAugment, then Cutout of half the side, as in FixMatch and UDA.

    FixMatch draws the magnitude of each distortion; here it is fixed.

    Args:
        method: its name, for messages.
        magnitude: of the distortions, between 0 and 30.
        instead: what to take for samples that are no images.

    Raises:
        DataError: the samples are no images.
        RecipeError: kornia is not installed.
    """

    def __init__(
        self,
        setup: Setup,
        method: str,
        magnitude: int,
        instead: str = "take method 'pseudo-label' or 'mean-teacher', which distort nothing",
    ):
        shape = setup.train_set.shape
        if len(shape) != 3:
            raise DataError(
                f"method {method!r} distorts images of shape (channels, height, width), but one sample has shape "
                f"{shape}; {instead}"
            )
        own = [setup.augment] if setup.augment else []
        distortions = Compose([RandAugment(magnitude=magnitude), Cutout(size=max(min(shape[1:]) // 2, 1))])
        self._transform = Compose([*own, in_range(distortions, setup.train_set.inputs)])
        self._setup = setup

    def __call__(self, index: Tensor) -> Tensor:
        """New views of some training samples, shape (n, ...), ready for the model.

        Args:
            index: shape (n,), places in the training set.
        """
        setup = self._setup
        return setup.train_set.batch(index.cpu(), self._transform, setup.generator, setup.device).inputs


def in_range(distortions: Transform, inputs: Inputs) -> Transform:
    """Distortions of images in [0, 1], for images of the range of ``inputs``: bytes come so, floats as they are."""
    if not isinstance(inputs, Tensor) or not inputs.is_floating_point():
        return distortions
    low, high = float(inputs.min()), float(inputs.max())
    if low >= 0 and high <= 1:
        return distortions
    span = max(high - low, 1e-12)
    return lambda batch, generator: distortions((batch - low) / span, generator) * span + low
