import numpy as np
import pytest
import torch

from reweigh.errors import DataError
from reweigh.transforms import PadCrop


@pytest.mark.parametrize(("mode", "of_numpy"), [("reflect", "reflect"), ("zero", "constant")])
@pytest.mark.parametrize("padding", [0, 1, 4, 9])
def test_against_a_loop(images, seeded, mode, of_numpy, padding):
    top, left = torch.randint(0, 2 * padding + 1, (2, len(images)), generator=seeded()).tolist()
    expected = []
    for image, y, x in zip(images.numpy(), top, left, strict=True):
        padded = np.pad(image, ((0, 0), (padding, padding), (padding, padding)), mode=of_numpy)
        expected.append(padded[:, y : y + 12, x : x + 10])
    result = PadCrop(padding=padding, mode=mode)(images, seeded())
    assert np.array_equal(result.numpy(), np.stack(expected))


def test_images_that_are_not_contiguous(images, seeded):
    crop = PadCrop()
    turned = images.transpose(2, 3)
    assert torch.equal(crop(turned, seeded()), crop(turned.contiguous(), seeded()))
    last = images.contiguous(memory_format=torch.channels_last)
    assert torch.equal(crop(last, seeded()), crop(images, seeded()))


def test_all_shifts_happen(seeded):
    """A single bright pixel in the middle ends up at each of the nine places, about equally often."""
    batch = torch.zeros(9000, 1, 5, 5)
    batch[:, :, 2, 2] = 1
    counts = PadCrop(padding=1, mode="zero")(batch, seeded()).sum((0, 1))
    assert counts[1:4, 1:4].sum() == 9000
    assert (counts[1:4, 1:4] - 1000).abs().max() < 150  # five standard deviations


def test_too_small_to_mirror(seeded):
    with pytest.raises(DataError, match="cannot mirror 4 pixels of images of 8 x 4; use a padding below 4"):
        PadCrop()(torch.zeros(2, 1, 8, 4), seeded())
    assert PadCrop(mode="zero")(torch.zeros(2, 1, 8, 4), seeded()).shape == (2, 1, 8, 4)
