"""In which size images are read: their own if all have the same, otherwise one that suits the network."""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any, NamedTuple

from reweigh.plan.choose import Facts, feature_width, features

SMALL_NETWORK_SIDE = 64  # pixels, at most, of images for the small network
PRETRAINED_SIDE = 224  # likewise for pretrained networks


class ImageSize(NamedTuple):
    """How images are read.

    Attributes:
        size: Side in pixels that images are resized to; None keeps their size.
        frozen: Whether a frozen network sees the images.
    """

    facts: Facts
    size: int | None
    sizes: int
    frozen: bool


def image_size(headers: Sequence[tuple[int, int, bool]], given: Mapping[str, Any]) -> ImageSize:
    """The size for some images.

    >>> image_size([(90, 120, True), (90, 100, True)], {"features": {"name": "none"}}).facts.shape
    (1, 64, 64)
    """
    sizes = {header[:2] for header in headers}
    height, width, _ = headers[0]
    channels = 1 if all(gray for _, _, gray in headers) else 3
    usual = round(median(min(header[:2]) for header in headers))
    facts = Facts(len(headers), (channels, usual, usual), (), images=True, photos=channels == 3, pixels=True)
    frozen = feature_width(features(facts, given), given) is not None
    largest = PRETRAINED_SIDE if frozen else SMALL_NETWORK_SIDE
    size = min(largest, usual) if len(sizes) > 1 or max(height, width) > largest else None
    return ImageSize(facts._replace(shape=(channels, size or height, size or width)), size, len(sizes), frozen)
