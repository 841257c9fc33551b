import pytest
import torch

from reweigh.errors import DataError
from reweigh.transforms import Normalize


def test_against_a_loop(images, seeded):
    mean, std = (0.1, 0.2, 0.3), (0.5, 0.6, 0.7)
    expected = torch.stack(
        [torch.stack([(c - m) / s for c, m, s in zip(image, mean, std, strict=True)]) for image in images]
    )
    torch.testing.assert_close(Normalize(mean=mean, std=std)(images, seeded()), expected)


def test_doubles_stay_doubles(images, seeded):
    assert Normalize(mean=(0.0,) * 3, std=(1.0,) * 3)(images.double(), seeded()).dtype == torch.float64


@pytest.mark.parametrize(("mean", "std"), [((0.5,), (0.5,)), ((0.5,) * 3, (0.5,))])
def test_wrong_number_of_channels(images, seeded, mean, std):
    with pytest.raises(DataError, match="means and 1 deviations, but the images have 3 channels"):
        Normalize(mean=mean, std=std)(images, seeded())
