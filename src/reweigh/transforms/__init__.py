"""Random augmentations of whole batches of images; each takes a float batch and a generator."""

from collections.abc import Callable

from reweigh.transforms.color_distortion import ColorDistortion
from reweigh.transforms.compose import Compose, Transform
from reweigh.transforms.cutout import Cutout
from reweigh.transforms.flip import Flip
from reweigh.transforms.normalize import Normalize
from reweigh.transforms.pad_crop import PadCrop
from reweigh.transforms.rand_augment import RandAugment
from reweigh.transforms.resized_crop import ResizedCrop

TRANSFORMS: dict[str, Callable[..., Transform]] = {
    "normalize": Normalize,
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
    "Normalize",
    "PadCrop",
    "RandAugment",
    "ResizedCrop",
    "Transform",
]
