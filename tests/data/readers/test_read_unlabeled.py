"""Inputs without labels come in the shape of the training inputs; what cannot be read is left out and said."""

import logging

import numpy as np
import pytest
import torch

from reweigh.data.readers import read_unlabeled
from reweigh.data.readers.image_files import decode
from reweigh.errors import DataError


@pytest.fixture
def photos(tmp_path):
    """Two images of different sizes, in sub-folders, and a broken one: a PNG that ends early."""
    from PIL import Image

    draw = np.random.default_rng(0)
    for name, shape in (("a/one.png", (6, 6, 3)), ("b/two.png", (6, 9, 3)), ("b/cut.png", (40, 40, 3))):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        Image.fromarray(draw.integers(0, 256, shape, dtype=np.uint8)).save(tmp_path / name)
    whole = (tmp_path / "b" / "cut.png").read_bytes()
    (tmp_path / "b" / "cut.png").write_bytes(whole[: len(whole) // 2])
    return tmp_path


def test_images_come_in_size_and_color_of_the_training_images(photos, caplog):
    with caplog.at_level(logging.INFO):
        found = read_unlabeled(photos, (1, 6, 6), encoding=None, raw_bytes=True)
    assert found.names == ("a/one.png", "b/two.png")
    for place, name in enumerate(found.names):
        assert found.inputs[torch.tensor([place])][0].equal(decode(photos / name, (6, 6), 1))
    assert "1 of 3 files left out: b/cut.png: " in caplog.text
    assert "1 of 2 images are resized to 6 x 6" in caplog.text
    assert "2 of 2 images lose their color" in caplog.text


def test_numbers_that_are_none(tmp_path):
    np.save(tmp_path / "x.npy", np.array([[1.0, 2.0], [np.nan, 1.0]], np.float32))
    with pytest.raises(DataError, match="NaN in 1 of 2 samples: row 1"):
        read_unlabeled(tmp_path / "x.npy", (2,), encoding=None, raw_bytes=False)


def test_a_huge_photo_is_not_decoded_in_full(tmp_path, monkeypatch):
    from PIL import Image

    path = tmp_path / "huge.jpg"
    pixels = np.random.default_rng(0).integers(0, 256, (10, 16, 3), dtype=np.uint8)
    Image.fromarray(pixels).resize((1600, 1000)).save(path)
    seen = []
    resize = Image.Image.resize
    monkeypatch.setattr(Image.Image, "resize", lambda self, *more: seen.append(self.size) or resize(self, *more))
    small = decode(path, (16, 16), 3, "stretch")
    assert seen == [(200, 125)]  # an eighth of each side
    with Image.open(path) as image:
        exact = np.asarray(resize(image, (16, 16), Image.Resampling.BILINEAR), dtype=float)
    assert np.abs(small.permute(1, 2, 0).numpy() - exact).mean() < 2
