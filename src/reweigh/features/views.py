"""Views of images that a frozen network sees besides the images themselves: mirrored, and distorted at random."""

from threading import Lock

import torch
from torch import Tensor

from reweigh.data.normalize import as_float
from reweigh.files.row_cache import digest
from reweigh.transforms import Compose, Flip
from reweigh.transforms.strong import strong

DISTORTED = 2  # number of the first view that is distorted
MAGNITUDE = 10  # of 30, as FixMatch and its relatives have by default
_one_at_a_time = Lock()  # distortions draw from torch's global generator


def seen(images: Tensor, view: int) -> Tensor:
    """One view of each image: 0 as it is, 1 its mirror image, from 2 on a distorted one, in [0, 1].

    The image and the number of the view determine the distortion, and the rest of the batch does not.

    Args:
        images: Shape (n, 1 or 3, height, width), bytes or floats in [0, 1], on the CPU.
    """
    if view < DISTORTED:
        return images.flip(3) if view else images
    distort = Compose([Flip(), strong(images.shape[1:], MAGNITUDE)])
    views = []
    for image in images.split(1):
        seed = digest(str(view).encode(), image.contiguous().numpy().data)[:7]
        generator = torch.Generator().manual_seed(int.from_bytes(seed, "little"))
        with _one_at_a_time:
            views.append(distort(as_float(image), generator))
    return torch.cat(views).clamp_(0, 1)
