"""EfficientNet-Lite0 as features: small, quick on a CPU, and with weights that come in a package and work offline."""

from math import ceil
from typing import Annotated

import torch
from annotated_types import Ge
from torch import nn

from reweigh.features.network import Network, Resize, check_images
from reweigh.models.efficientnet_lite import MEAN, SIZE, STD, WIDTH, fused, imagenet

MIN_SIDE = 96  # pixels
MAX_ENLARGEMENT = 3  # times that small images are enlarged; more costs time and gains nothing
STRIDE = 32


def efficientnet_lite0(
    input_shape: tuple[int, ...],
    *,
    size: Annotated[int, Ge(32)] | None = None,
    resize: Resize = "crop",
) -> Network:
    """EfficientNet-Lite0 trained on ImageNet, 1,280 features; works offline, needs the extra ``pretrained``.

    Args:
        size: Side in pixels that images are resized to; by default 224, and for small images three times their side.
        resize: Whether to crop what is not square, or to pad it.

    Raises:
        DataError: The samples are not images.
        ModelError: The weights are not available.
    """
    check_images("efficientnet-lite0", input_shape)
    side = size or side_for(min(input_shape[1:]))
    network = imagenet()
    network.classifier = nn.Identity()
    module = fused(network)
    module.to(memory_format=torch.channels_last)  # pyright: ignore[reportCallIssue] (torch does not declare it)
    return Network("efficientnet-lite0", module, WIDTH, side, (MEAN,) * 3, (STD,) * 3, resize)


def side_for(side: int) -> int:
    """The side in pixels that images of this short side are resized to."""
    return min(SIZE, max(MIN_SIDE, STRIDE * ceil(MAX_ENLARGEMENT * side / STRIDE)))
