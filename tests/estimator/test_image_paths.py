"""Paths of images and tables of polars as X give what arrays and tables of pandas give; the map of the samples."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits

from reweigh import RobustClassifier
from reweigh.errors import DataError


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    from PIL import Image

    folder = tmp_path_factory.mktemp("photos")
    images, labels = load_digits(n_class=3, return_X_y=True)
    images = (images[:60].reshape(-1, 1, 8, 8) * 15.9).astype(np.uint8)
    for number, image in enumerate(images):
        Image.fromarray(image[0]).save(folder / f"{number:02}.png")
    return sorted(folder.iterdir()), images, labels[:60]


def fitted(X, y):
    return RobustClassifier("erm", epochs=2, random_state=0).fit(X, y)


@pytest.mark.parametrize("form", [list, lambda files: [*map(str, files)], lambda files: np.array([*map(str, files)]),
                                  lambda files: pd.Series([*map(str, files)])])  # fmt: skip
def test_paths_are_the_images_that_they_lead_to(photos, form):
    files, images, labels = photos
    by_path, by_pixels = fitted(form(files), labels), fitted(images, labels)
    assert np.array_equal(by_path.predict_proba(form(files)), by_pixels.predict_proba(images))
    assert by_path.n_features_in_ == by_pixels.n_features_in_


def test_sizes_differ_and_large_photos_shrink(tmp_path):
    from PIL import Image

    for number in range(12):
        Image.new("RGB", (90 + number, 120), (20 * number, 0, 0)).save(tmp_path / f"{number}.jpg")
    files = sorted(tmp_path.iterdir())
    classifier = RobustClassifier("erm", epochs=1, features="none").fit(files, [0, 1] * 6)
    assert classifier._fit.inputs.shape == (3, 64, 64)


def test_every_bad_file_is_named(photos):
    files, _, labels = photos
    broken = files[0].with_name("broken.txt.png")
    broken.write_text("not an image")
    with pytest.raises(DataError, match=r"2 files cannot be read as an image.*broken.txt.png.*gone.png: no such file"):
        fitted([*files[:4], broken, Path("gone.png")], labels[:6])
    broken.unlink()
    with pytest.raises(DataError, match="trained on something else"):
        fitted(np.random.default_rng(0).normal(size=(20, 3)), [0, 1] * 10).predict(files[:2])
    with pytest.raises(DataError, match="strings; pass a DataFrame"):
        fitted(["some", "words"] * 4, [0, 1] * 4)


def test_polars_tables():
    polars = pytest.importorskip("polars")
    draw = np.random.default_rng(0)
    frame = pd.DataFrame({"size": draw.normal(size=80), "town": draw.choice(["Ulm", "Bonn"], 80)})
    frame.loc[3, "size"] = None
    labels = np.where(frame["town"] == "Ulm", "yes", "no")
    given = polars.from_pandas(frame)
    one, other = fitted(frame, labels), fitted(given, polars.Series(labels.tolist()))
    assert np.array_equal(one.predict_proba(frame), other.predict_proba(given.lazy()))
    assert getattr(other, "feature_names_in_").tolist() == ["size", "town"]  # noqa: B009 (set by scikit-learn)


def test_the_map_shows_every_sample_once_and_frames_what_looks_wrong(photos):
    _, images, labels = photos
    given = labels.copy()
    given[::10] = (given[::10] + 1) % 3
    classifier = fitted(images, given)
    points = [each.get_offsets() for each in classifier.plot_map(images).collections]
    assert sum(map(len, points[::2])) == 60
    assert sum(map(len, points[1::2])) == int(classifier.label_issues_["is_label_issue"].sum())
    with pytest.raises(DataError, match="59 samples, but 60 were fitted"):
        classifier.plot_map(images[1:])


def test_without_pretrained_weights_photos_are_small(tmp_path, monkeypatch):
    """As on the command line: the small network is made for 64 pixels."""
    from PIL import Image

    monkeypatch.setattr("reweigh.plan.choose.installed", lambda: False)
    for number in range(12):
        Image.new("RGB", (100, 100), (20 * number, 0, 0)).save(tmp_path / f"{number}.png")
    classifier = RobustClassifier("erm", epochs=1).fit(sorted(tmp_path.iterdir()), [0, 1] * 6)
    assert classifier._fit.inputs.shape == (3, 64, 64)
