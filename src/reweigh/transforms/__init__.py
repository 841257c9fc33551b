"""Random augmentations of whole batches of images; each takes a float batch and a generator."""

from collections.abc import Callable

from reweigh.transforms.basic import Compose, Cutout, Flip, PadCrop, Transform
from reweigh.transforms.strong import ColorDistortion, RandAugment, ResizedCrop

TRANSFORMS: dict[str, Callable[..., Transform]] = {
    "pad-crop": PadCrop,
    "flip": Flip,
    "cutout": Cutout,
    "resized-crop": ResizedCrop,
    "color-distortion": ColorDistortion,
    "rand-augment": RandAugment,
}

__all__ = [
    "TRANSFORMS",
    "ColorDistortion",
    "Compose",
    "Cutout",
    "Flip",
    "PadCrop",
    "RandAugment",
    "ResizedCrop",
    "Transform",
]
