"""What gives the label away is found: columns, also where they have gaps, and how images were made."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image, ImageFilter

from reweigh.data import inspect, read
from reweigh.data.findings import _apart, image_traps, leaks
from reweigh.data.readers.reader import Request
from reweigh.data.readers.table import from_frame
from reweigh.data.source import Source

ROWS = 400


def table(labels: np.ndarray, **columns: object):
    honest = np.random.default_rng(1).normal(size=len(labels)).round(3).astype(str)
    return from_frame(pd.DataFrame({"size": honest, **columns, "kind": labels}), Request(Source(Path(), label="kind")))


def test_a_leak_with_gaps():
    draw = np.random.default_rng(0)
    labels = draw.choice(["a", "b", "c"], ROWS)
    code = np.where(draw.random(ROWS) < 0.2, "", np.char.add("code ", labels))
    (found,) = leaks(table(labels, **{"the code": code}))
    assert "Column 'the code' alone predicts 100.0% of the labels where it has a value (in 8" in found
    assert "--drop 'the code'." in found


def test_a_column_that_is_filled_for_one_class_only():
    labels = np.random.default_rng(0).choice(["no", "yes"], ROWS)
    (found,) = leaks(table(labels, closed=np.where(labels == "yes", "by phone", "")))
    assert "Column 'closed' alone predicts 100.0% of the labels; the most frequent class is 5" in found


def test_a_frequent_class_is_not_a_leak():
    labels = np.where(np.random.default_rng(0).random(ROWS) < 0.02, "rare", "usual")
    assert leaks(table(labels, town=np.random.default_rng(2).choice(["Ulm", "Bonn"], ROWS))) == []


def test_the_only_column_cannot_be_left_out():
    labels = np.random.default_rng(0).choice(["sea", "sky"], ROWS)
    only = pd.DataFrame({"text": [f"the {label} at {row}" for row, label in enumerate(labels)], "kind": labels})
    assert leaks(from_frame(only, Request(Source(Path(), label="kind")))) == []


def photos(folder: Path, change) -> list[str]:
    """What is found in 60 photos of noise, 30 of each class; ``change(place, label, image)`` may alter each."""
    draw = np.random.default_rng(0)
    for place in range(60):
        label = ("cat", "dog")[place % 2]
        pixels = np.kron(draw.integers(40, 216, (6, 8, 3)), np.ones((8, 8, 1))) + draw.integers(-9, 9, (48, 64, 3))
        (folder / label).mkdir(parents=True, exist_ok=True)
        change(place, label, Image.fromarray(pixels.astype(np.uint8))).save(folder / label / f"{place:02}.png")
    dataset = read(folder, size=(48, 48))
    return image_traps(dataset, inspect(dataset).traits)


def test_images_like_the_others(tmp_path):
    assert photos(tmp_path, lambda place, label, image: image) == []


def test_odd_images_are_named(tmp_path):
    def change(place: int, label: str, image: Image.Image) -> Image.Image:
        odd = {
            2: lambda: image.point(lambda value: value // 20),
            3: lambda: image.point(lambda value: 255 - value // 40),
            4: lambda: image.filter(ImageFilter.GaussianBlur(6)),
            5: lambda: image.resize((300, 48)),
        }
        return odd.get(place, lambda: image)()

    assert photos(tmp_path, change) == [
        "1 image is nearly black: cat/02.png.",
        "1 image is nearly white: dog/03.png.",
        "1 image is blurred, with far fewer edges than the others: cat/04.png.",
        "1 image is of an odd size (usual: 64 x 48): dog/05.png.",
    ]


def test_a_class_that_was_photographed_differently(tmp_path):
    def change(place: int, label: str, image: Image.Image) -> Image.Image:
        return image.point(lambda value: value // 2).resize((66, 48)) if label == "dog" else image

    brightness, width = photos(tmp_path, change)
    assert brightness.startswith("The brightness is at most 0.26")
    assert "in 100% of the images of 'dog' and in 0% of the others." in brightness
    assert width.startswith("The width is at most 64 in 100% of the images of 'cat' and in 0% of the others.")


def test_how_far_a_class_lies_apart_against_a_loop():
    draw = np.random.default_rng(0)
    values, inside = draw.integers(0, 9, 200), draw.random(200) < 0.3
    far = max(abs((values[inside] <= at).mean() - (values[~inside] <= at).mean()) for at in values)
    assert _apart(values, inside)[0] == pytest.approx(far)
