"""The facts about the data that the choice of a plan depends on."""

from math import prod
from typing import NamedTuple

import torch

from reweigh.data import Dataset
from reweigh.data.inputs import Rows
from reweigh.data.sparse import SparseRows


class Facts(NamedTuple):
    """What the rules look at.

    Attributes:
        samples: Number of training samples.
        shape: Shape of one sample.
        class_sizes: Training samples of each class.
        images: Whether samples are images.
        photos: Whether they are photos: images of bytes in color, which may be mirrored and shifted, unlike digits.
        pixels: Whether they are images of bytes, in gray or color, as a pretrained network takes them.
        candidates: Whether samples have sets of candidate labels.
        sparse: Whether they are stored without their zeros.
        text: Whether most of their features are words; taken for granted if they are sparse.
    """

    samples: int
    shape: tuple[int, ...]
    class_sizes: tuple[int, ...]
    images: bool = False
    photos: bool = False
    candidates: bool = False
    pixels: bool = False
    sparse: bool = False
    text: bool = False

    @classmethod
    def of(cls, dataset: Dataset) -> "Facts":
        """The facts of a training set."""
        sizes = tuple(dataset.class_sizes.tolist())
        images = dataset.is_images
        pixels = images and dataset.dtype == torch.uint8 and dataset.shape[0] in (1, 3)
        photos = pixels and dataset.shape[0] == 3
        source = dataset.inputs.inputs if isinstance(dataset.inputs, Rows) else dataset.inputs
        several, encoding = dataset.candidates is not None, dataset.reading.encoding
        sparse = isinstance(source, SparseRows)
        text = sparse or (encoding is not None and 2 * encoding.words > prod(dataset.shape))
        return cls(len(dataset), dataset.shape, sizes, images, photos, several, pixels, sparse, text)

    def as_features(self, width: int) -> "Facts":
        """The facts of the same samples behind a frozen network."""
        return self._replace(shape=(width,), images=False, photos=False, pixels=False, sparse=False, text=False)
