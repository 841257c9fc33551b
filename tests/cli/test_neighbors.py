"""What ``inspect`` says of rows that are nearly the same."""

import numpy as np
import pandas as pd
import pytest
import torch

from reweigh.data import Dataset
from reweigh.fit.near import near_rows


@pytest.fixture
def table(tmp_path):
    """Three kinds of animals; eight rows were entered twice, with another label."""
    draw = np.random.default_rng(0)
    kind = np.repeat(["jaguar", "horse", "truck"], [160, 100, 100])
    centers = {"jaguar": (0, 0, 0), "horse": (3, 0, 1), "truck": (0, 4, 2)}
    middle = np.array([centers[name] for name in kind], dtype=float)
    values = middle + draw.normal(0, 0.5, (360, 3))
    frame = pd.DataFrame(values, columns=["weight", "length", "height"]).round(4)
    frame["sex"], frame["age"], frame["kind"] = draw.choice(["m", "f"], 360), draw.normal(9, 2, 360).round(3), kind
    again = frame.iloc[[300, 301, 302, 303, 304, 305, 306, 307]].assign(kind="horse")
    again["age"] += 0.001
    path = tmp_path / "animals.csv"
    pd.concat([frame, again]).to_csv(path, index=False)
    return path


def test_they_are_reported_with_examples(run, table):
    text = " ".join(run("inspect", table, "--label", "kind").stdout.split())
    assert "8 pairs of rows are nearly the same, with different labels (row 300 is 'truck' and row 360" in text


def test_nothing_is_said_of_images_and_of_single_classes():
    images = Dataset(torch.zeros(100, 3, 8, 8), torch.arange(100) % 2, ("a", "b"))
    assert near_rows(images) == []
    lonely = Dataset(torch.randn(100, 4), torch.zeros(100, dtype=torch.int64), ("a",))
    assert near_rows(lonely) == []
