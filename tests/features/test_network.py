import numpy as np
import pytest
import torch
from PIL import Image
from torch import nn

from reweigh.errors import DataError, ModelError
from reweigh.features.network import Network, probed, resized


def test_crop_keeps_the_middle_and_pad_everything():
    """A square in the middle of a wide image stays square."""
    image = torch.zeros(1, 1, 20, 40)
    image[:, :, 5:15, 15:25] = 1
    cropped, padded = resized(image, 20, "crop"), resized(image, 20, "pad")
    assert cropped.shape == padded.shape == (1, 1, 20, 20)
    torch.testing.assert_close(cropped, image[:, :, :, 10:30])
    assert padded[0, 0, :5].unique().tolist() == [0.5]  # gray bars
    rows, columns = ((padded[0, 0, 5:15] > 0.5).any(dim).sum() for dim in (1, 0))
    assert rows == columns
    assert resized(torch.rand(2, 3, 7, 9), 32, "crop").shape == (2, 3, 32, 32)


@pytest.mark.parametrize("side", [12, 70])
def test_bytes_are_resized_as_pillow_does(side):
    image = np.random.default_rng(0).integers(0, 256, (32, 48, 3), dtype=np.uint8)
    pixels = torch.from_numpy(image).permute(2, 0, 1)[None]
    expected = np.asarray(
        Image.fromarray(image).resize((side * 3 // 2, side), Image.Resampling.BICUBIC), dtype=np.int16
    )
    first = (expected.shape[1] - side) // 2
    found = resized(pixels, side, "crop")[0].permute(1, 2, 0)
    assert found.dtype == torch.uint8
    assert np.abs(found.numpy() - expected[:, first : first + side]).max() <= 2  # rounding in two passes
    network = Network("net", nn.Flatten(), 3 * side**2, size=side)
    assert torch.equal(network.prepare(pixels / 255), network.prepare(pixels))


def test_prepare_scales_bytes_repeats_gray_and_normalizes():
    network = Network("net", nn.Flatten(), 12, size=2, mean=(0.5, 0.25, 0.0), std=(0.5, 1.0, 2.0))
    gray = torch.full((1, 1, 2, 2), 255, dtype=torch.uint8)
    assert network.prepare(gray)[0, :, 0, 0].tolist() == [1.0, 0.75, 0.5]
    assert torch.equal(network.prepare(torch.ones(1, 1, 2, 2)), network.prepare(gray))
    with pytest.raises(DataError, match=r"floats from 0 to 255.*pass bytes"):
        network.prepare(torch.tensor([0.0, 255.0]).view(1, 1, 1, 2))


def test_the_key_changes_with_everything_that_counts():
    def keys(**changes):
        torch.manual_seed(changes.pop("seed", 0))
        return Network(**{"name": "net", "module": nn.Linear(3, 2), "width": 2, "size": 96} | changes).key()

    same = {keys(), keys()}
    assert len(same) == 1
    others = [
        {"seed": 1},
        {"size": 64},
        {"mean": (0.5,), "std": (1.0,)},
        {"resize": "pad"},
        {"module": nn.Linear(3, 3)},
    ]
    assert len({*same, *(keys(**change) for change in others)}) == 6
    assert keys(name="timm:a/b").startswith("timm-a-b-96-")


@pytest.mark.parametrize(
    ("module", "words"),
    [(nn.Linear(7, 2), "cannot take samples of shape"), (nn.Identity(), r"returns \(2, 3, 4, 4\) for two samples")],
)
def test_a_module_that_gives_no_rows(module, words):
    with pytest.raises(ModelError, match=words):
        probed(Network("net", module, 0), (3, 4, 4))
