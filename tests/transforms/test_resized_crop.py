from math import exp, floor, log, sqrt

import pytest
import torch

from reweigh.transforms import ResizedCrop


def value(image, y, x):
    """Bilinear, in pixels counted from the center of the first; the border goes on for ever."""
    total = 0.0
    for row, down in ((floor(y), 1 - (y - floor(y))), (floor(y) + 1, y - floor(y))):
        for column, across in ((floor(x), 1 - (x - floor(x))), (floor(x) + 1, x - floor(x))):
            clipped = image[:, min(max(row, 0), 11), min(max(column, 0), 9)]
            total = total + down * across * clipped
    return total


@pytest.mark.parametrize("smallest", [0.08, 0.5, 1.0])
def test_against_a_loop(images, seeded, smallest):
    images = images.double()
    draws = torch.rand(4, len(images), generator=seeded()).double()
    expected = torch.empty_like(images)
    for image, new, (area, shape, top, left) in zip(images, expected, draws.T.tolist(), strict=True):
        area = smallest + (1 - smallest) * area
        stretch = exp((2 * shape - 1) * min(log(4 / 3), log(1 / area)))
        height, width = sqrt(area / stretch) * 12, sqrt(area * stretch) * 10
        top, left = top * (12 - height), left * (10 - width)
        for y in range(12):
            for x in range(10):
                new[:, y, x] = value(image, top + (y + 0.5) * height / 12 - 0.5, left + (x + 0.5) * width / 10 - 0.5)
    torch.testing.assert_close(ResizedCrop(smallest=smallest)(images, seeded()), expected)


def test_parts_cover_what_they_should(seeded):
    """Of a ramp from 0 to 1 the part shows as much as it is wide: areas are even between the smallest and all."""
    ramp = torch.arange(32.0) / 31
    across, down = ramp.expand(20_000, 1, 2, 32), ramp.view(32, 1).expand(20_000, 1, 32, 2)
    crop = ResizedCrop(smallest=0.25)
    width, height = (
        (part.flatten(1).amax(1) - part.flatten(1).amin(1)) for part in (crop(across, seeded()), crop(down, seeded()))
    )
    area = width * height
    assert 0.23 < area.min() < 0.3
    assert area.max() > 0.98
    assert float(area.mean()) == pytest.approx((0.25 + 1) / 2, abs=0.02)
    assert (width / height).max() < 1.5
    assert float(width.log().mean() - height.log().mean()) == pytest.approx(0, abs=0.01)


def test_the_whole_image_stays_as_it_is(images, seeded):
    torch.testing.assert_close(ResizedCrop(smallest=1.0)(images, seeded()), images)
