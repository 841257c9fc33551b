"""Samples are shown as they are: the pixels of an image, the cells of the user's table."""

import base64
import io

import numpy as np
import pytest
import torch
from PIL import Image

from reweigh.data import Dataset
from reweigh.data.dataset import Reading
from reweigh.data.named.own_files import files
from reweigh.data.source import Source
from reweigh.data.viewer import CARD_PIXELS, Viewer, cell


def pixels(uri):
    head, _, body = uri.partition(",")
    assert head == "data:image/png;base64"
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(body))).convert("RGB"))


def picture(image):
    dataset = Dataset(torch.from_numpy(image)[None], torch.zeros(1).long(), ("a", "b"))
    return Viewer(dataset).card(0, 0, 1).image


def show(dataset, *indices):
    viewer = Viewer(dataset)
    return [viewer.card(index) for index in indices]


def test_a_gray_image_keeps_its_pixels_only_larger():
    image = np.random.default_rng(0).integers(0, 256, (1, 8, 8), dtype=np.uint8)
    drawn = pixels(picture(image))
    times = CARD_PIXELS // 8
    np.testing.assert_array_equal(drawn[..., 0], image[0].repeat(times, 0).repeat(times, 1))


def test_a_color_image_is_made_small_and_keeps_its_colors():
    image = np.zeros((3, 400, 200), np.uint8)
    image[0, :200], image[2, 200:] = 200, 150
    drawn = pixels(picture(image))
    assert drawn.shape == (CARD_PIXELS, CARD_PIXELS // 2, 3)
    assert abs(drawn[8, 8] - np.array([200.0, 0, 0])).max() < 8
    assert abs(drawn[-8, -8] - np.array([0, 0, 150.0])).max() < 8


@pytest.mark.parametrize("image", [np.full((1, 5, 5), 3.0), np.full((2, 5, 5), np.nan), -np.eye(6)[None]])
def test_floats_of_any_range(image):
    drawn = pixels(picture(image))
    assert drawn.shape[:2] == (CARD_PIXELS // image.shape[1] * image.shape[1],) * 2


def test_features_without_a_table():
    dataset = Dataset(torch.arange(30.0).reshape(3, 10), torch.zeros(3).long(), ("a", "b"))
    first, second = show(dataset, 2, 0)
    assert first.values[:2] == [("feature 0", "20"), ("feature 1", "21")]
    assert (len(second.values), second.more, second.image) == (8, 2, "")


def test_the_cells_of_the_users_table(tmp_path):
    path = tmp_path / "table.csv"
    rows = [f"{n}.25,{'red' if n % 2 else ''},{'x ' * 100}{'y' * (n % 3)},{'ab'[n % 2]}" for n in range(40)]
    path.write_text("\n".join(["size,color,<b>note</b>,kind", *rows]) + "\n")
    train = files(tmp_path, path="table.csv", label="kind").train
    for shown, place in zip(show(train, 4, 7), (4, 7), strict=True):
        row = int(train.origin[place])
        size, color, note = shown.values
        assert size == ("size", f"{row}.25")
        assert color == ("color", "red" if row % 2 else "missing")
        assert note[0] == "<b>note</b>"
        assert len(note[1]) < 100


def test_telling_columns_come_first_and_ids_are_names(tmp_path):
    path = tmp_path / "table.csv"
    rows = [f"K{n},{n % 2 + n / 1000},{n % 7},{10 * (n % 2)}.5,{'ab'[n % 2]}" for n in range(60)]
    rows[5] = "K5,0.0,3,9.9,a"  # like a in its size, like b in its mass
    path.write_text("\n".join(["key,size,other,mass,kind", *rows]) + "\n")
    train = files(tmp_path, path="table.csv", label="kind", test_fraction=0.02).train
    looks = Viewer(train)
    index = train.origin.tolist().index(5)
    assert looks.name(index) == "key K5"
    assert [name for name, _ in looks.values(index)] == ["size", "other", "mass"]
    assert next(name for name, _ in looks.values(index, 0, 1)) == "mass"
    assert next(name for name, _ in looks.values(index, 1, 0)) == "size"


def test_a_larger_picture_comes_from_the_file_inside_the_folder_alone(tmp_path):
    inside, outside = tmp_path / "data", tmp_path / "outside"
    for place, color in ((inside / "a", "red"), (outside, "blue")):
        place.mkdir(parents=True)
        Image.new("RGB", (300, 200), color).save(place / "x.png")
    (inside / "a" / "link.png").symlink_to(outside / "x.png")
    small = torch.zeros(2, 3, 8, 8, dtype=torch.uint8)
    reading = Reading(names=("a/x.png", "a/link.png"), source=Source(inside))
    looks = Viewer(Dataset(small, torch.zeros(2).long(), ("a", "b"), reading=reading))
    assert looks.picture(0, 768).size == (300, 200)
    assert looks.picture(0, 768).getpixel((5, 5)) == (255, 0, 0)
    assert looks.picture(1, 768).size == (8, 8)  # the training sample itself


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("2.9749427661379526", "2.97494"),
        (1 / 3, "0.333333"),
        ("-0.00001234567", "-1.23457e-05"),
        ("25.50", "25.50"),
        ("1.2.345678", "1.2.345678"),
        ("00123456789", "00123456789"),
        (None, "missing"),
    ],
)
def test_long_fractions_are_shortened_and_nothing_else(value, shown):
    assert cell(value) == shown
