"""Samples are shown as they are: the pixels of an image, the cells of the user's table."""

import base64
import io

import numpy as np
import pytest
import torch
from PIL import Image

from reweigh.data import Dataset
from reweigh.recipes.check import check
from reweigh.recipes.read import read
from reweigh.report.inputs import SIDE, picture, show


def pixels(uri):
    head, _, body = uri.partition(",")
    assert head == "data:image/png;base64"
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(body))).convert("RGB"))


def test_a_gray_image_keeps_its_pixels_only_larger():
    image = np.random.default_rng(0).integers(0, 256, (1, 8, 8), dtype=np.uint8)
    drawn = pixels(picture(image))
    times = SIDE // 8
    np.testing.assert_array_equal(drawn[..., 0], image[0].repeat(times, 0).repeat(times, 1))


def test_a_color_image_is_made_small_and_keeps_its_colors():
    image = np.zeros((3, 400, 200), np.uint8)
    image[0, :200], image[2, 200:] = 200, 150
    drawn = pixels(picture(image))
    assert drawn.shape == (SIDE, SIDE // 2, 3)
    assert abs(drawn[8, 8] - np.array([200.0, 0, 0])).max() < 8
    assert abs(drawn[-8, -8] - np.array([0, 0, 150.0])).max() < 8


@pytest.mark.parametrize("image", [np.full((1, 5, 5), 3.0), np.full((2, 5, 5), np.nan), -np.eye(6)[None]])
def test_floats_of_any_range(image):
    drawn = pixels(picture(image))
    assert drawn.shape[:2] == (SIDE // image.shape[1] * image.shape[1],) * 2


def test_features_without_a_table():
    data = check(read("demo")).source
    dataset = Dataset(torch.arange(30.0).reshape(3, 10), torch.zeros(3).long(), ("a", "b"))
    first, second = show(dataset, data, np.array([2, 0]))
    assert first.values[:2] == [("feature 0", "20"), ("feature 1", "21")]
    assert (len(second.values), second.more, second.image) == (8, 2, "")


def test_the_cells_of_the_users_table(tmp_path):
    path = tmp_path / "table.csv"
    rows = [f"{n}.25,{'red' if n % 2 else ''},{'x' * 200},{'ab'[n % 2]}" for n in range(40)]
    path.write_text("\n".join(["size,color,<b>note</b>,kind", *rows]) + "\n")
    changes = ["data.name=files", f"data.path={path}", "data.label=kind", "data.bias=[]"]
    data = check(read("demo", changes)).source
    train = data.bind()(tmp_path).train
    for shown, place in zip(show(train, data, np.array([4, 7])), (4, 7), strict=True):
        row = int(train.origin[place])
        size, color, note = shown.values
        assert size == ("size", f"{row}.25")
        assert color == ("color", "red" if row % 2 else "missing")
        assert note[0] == "<b>note</b>"
        assert len(note[1]) < 100
