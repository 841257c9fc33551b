"""Color distortion as in SimCLR (Chen et al., ICML 2020): jitter most images, turn some gray."""

from math import pi
from typing import Annotated

import torch
from annotated_types import Ge, Le
from torch import Tensor

from reweigh.transforms.compose import check_images

JITTERED, GRAY = 0.8, 0.2  # probabilities
LUMA = (0.299, 0.587, 0.114)
CHROMA = ((0.596, -0.274, -0.322), (0.211, -0.523, 0.312))  # the I and Q of YIQ; hue is the angle between them


class ColorDistortion:
    """Brightness, contrast, saturation and hue of each image are changed at random; some images turn gray.

    All of this is one linear map of the colors of an image and one shift, so that a batch costs a single product. Hue
    rotates around the gray axis (YIQ), which for small angles agrees with a rotation in HSV. Nothing is clipped. Images
    with one channel change in brightness and contrast only.

    Examples:
        >>> ColorDistortion()(torch.rand(8, 3, 32, 32), torch.Generator().manual_seed(0)).shape
        torch.Size([8, 3, 32, 32])

    Args:
        strength: Strength of the distortion: brightness, contrast and saturation change by a factor between 1 - 0.8 s
            and 1 + 0.8 s, hue by at most 0.2 s of a full turn. Paper: s.
    """

    def __init__(self, *, strength: Annotated[float, Ge(0), Le(1)] = 0.5) -> None:
        self.strength = strength

    def __call__(self, batch: Tensor, generator: torch.Generator) -> Tensor:
        """The distorted images. Draws which to jitter, which to turn gray, then brightness, contrast, saturation, hue.

        Raises:
            DataError: The batch does not hold images.
        """
        check_images("color-distortion", batch)
        n, channels = batch.shape[:2]
        draws = torch.rand(6, n, generator=generator, device=generator.device).to(batch)
        jittered, gray = draws[0] < JITTERED, draws[1] < GRAY
        change = (2 * draws[2:] - 1) * self.strength * jittered
        brightness, contrast, saturation = 1 + 0.8 * change[:3]
        saturation = torch.where(gray, 0, saturation)
        luma = batch.new_tensor(LUMA if channels == 3 else [1 / channels] * channels)
        colors = torch.lerp(luma.expand(channels, channels), torch.eye(channels).to(batch), saturation.view(n, 1, 1))
        if channels == 3:
            colors = _turn(0.2 * change[3]) @ colors
        mean = torch.einsum("c,nchw->n", luma, batch) / (batch.shape[2] * batch.shape[3])
        pixels = (brightness * contrast).view(n, 1, 1) * colors @ batch.flatten(2)
        return pixels.add_((brightness * (1 - contrast) * mean).view(n, 1, 1)).view(batch.shape)


def _turn(hue: Tensor) -> Tensor:
    """The maps of RGB that rotate the hue by fractions of a full turn, shape (n, 3, 3)."""
    to_yiq = hue.new_tensor([LUMA, *CHROMA])
    angle = -2 * pi * hue  # from red to green to blue, as in HSV
    turn = torch.eye(3).to(hue).repeat(len(hue), 1, 1)
    turn[:, 1, 1] = turn[:, 2, 2] = angle.cos()
    turn[:, 2, 1] = angle.sin()
    turn[:, 1, 2] = -angle.sin()
    return torch.linalg.inv(to_yiq) @ turn @ to_yiq
