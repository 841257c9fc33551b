import pytest
import torch

from reweigh.transforms import Cutout


@pytest.mark.parametrize("size", [1, 4, 5, 40])
def test_against_a_loop(images, seeded, size):
    generator = seeded()
    rows = torch.randint(0, 12, (len(images), 1), generator=generator).flatten().tolist()
    columns = torch.randint(0, 10, (len(images), 1), generator=generator).flatten().tolist()
    expected = images.clone()
    for image, row, column in zip(expected, rows, columns, strict=True):
        for y in range(row - size // 2, row - size // 2 + size):
            for x in range(column - size // 2, column - size // 2 + size):
                if 0 <= y < 12 and 0 <= x < 10:
                    image[:, y, x] = 0.25
    assert torch.equal(Cutout(size=size, fill=0.25)(images, seeded()), expected)
