"""Further views of training samples, which should be classified as the samples themselves are."""

from torch import Tensor

from reweigh.core.batch import Batch
from reweigh.data import Inputs
from reweigh.data.inputs import drawn
from reweigh.errors import DataError
from reweigh.methods.setup import Setup
from reweigh.transforms import Compose, Transform
from reweigh.transforms.strong import strong


def another_view(setup: Setup, batch: Batch) -> Tensor:
    """The samples of a batch, augmented again; the same inputs if the setup has no transforms."""
    return batch.inputs if setup.augment is None else setup.new_batch(batch.index).inputs


class StrongView:
    """The transforms of the recipe, then strong distortions; for features, the features of a distorted image.

    Args:
        method: Name of the method, for messages.
        magnitude: Strength of the distortions, between 0 and 30; distorted views of features have their own.
        instead: What to do with samples that are not images, for messages.

    Raises:
        DataError: The samples are not images, and have no distorted views.
        RecipeError: Kornia is not installed.
    """

    def __init__(
        self,
        setup: Setup,
        method: str,
        magnitude: int,
        instead: str = "use method 'pseudo-label' or 'mean-teacher', which distort nothing",
    ):
        self._setup, self._transform = setup, None
        if setup.train_set.distorted:
            return
        shape = setup.train_set.shape
        if not setup.train_set.is_images:
            raise DataError(
                f"method {method!r} distorts images of shape (channels, height, width), but one sample has shape "
                f"{shape}; {instead}. For photos on pretrained features, features.views=4 computes distorted ones too"
            )
        own = [setup.augment] if setup.augment else []
        self._transform = Compose([*own, in_range(strong(shape, magnitude), setup.train_set.inputs)])

    def __call__(self, index: Tensor) -> Tensor:
        """New views of the training samples at ``index``, shape (n, ...), ready for the model."""
        setup, index = self._setup, index.cpu()
        raw = None
        if self._transform is None:
            raw = drawn([view[index] for view in setup.train_set.distorted], setup.generator)
        return setup.train_set.batch(index, self._transform, setup.generator, setup.device, raw).inputs


def in_range(distortions: Transform, inputs: Inputs) -> Transform:
    """Distortions of images in [0, 1], for images in the range of ``inputs``: bytes come scaled, floats as they are."""
    if not isinstance(inputs, Tensor) or not inputs.is_floating_point():
        return distortions
    low, high = float(inputs.min()), float(inputs.max())
    if low >= 0 and high <= 1:
        return distortions
    span = max(high - low, 1e-12)
    return lambda batch, generator: distortions((batch - low) / span, generator) * span + low
