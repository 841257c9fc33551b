"""Data beyond what is usual: said in a sentence, and bounded in what is printed, computed and kept."""

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image

from reweigh.data import Dataset
from reweigh.data.dataset import Reading
from reweigh.data.findings import leaks, order


def test_a_thousand_columns(run, tmp_path):
    draw = np.random.default_rng(0)
    frame = pd.DataFrame(draw.normal(size=(60, 1100)).round(2)).add_prefix("c")
    frame["c7"] = [f"€ {value:.2f}" for value in frame["c7"]]
    frame.assign(kind=draw.choice(["a", "b"], 60)).to_csv(tmp_path / "wide.csv", index=False)
    result = run("inspect", tmp_path / "wide.csv", "--label", "kind")
    assert result.exit_code == 0, result.output
    assert "1,099 more columns: 1,099 as number." in result.stdout
    assert len(result.stdout.splitlines()) < 60


@pytest.mark.parametrize("name", ["table.csv", "table.jsonl"])
def test_a_cell_of_ten_megabytes(run, tmp_path, name):
    frame = pd.DataFrame({"note": ["a few words"] * 40, "kind": ["a", "b"] * 20})
    frame.loc[5, "note"] = "word " * 2_000_000
    path = tmp_path / name
    if name.endswith("csv"):
        frame.to_csv(path, index=False)
    else:
        frame.to_json(path, orient="records", lines=True)
    result = run("inspect", path, "--label", "kind")
    assert result.exit_code == 2
    words = " ".join(result.output.split())
    assert "a line with a cell of 8,000,001 bytes; the limit is 8,000,000" in words
    assert "raise it with the environment variable REWEIGH_MAX_LINE" in words


def test_ten_thousand_classes(run, tmp_path):
    draw = np.random.default_rng(0)
    kind = np.arange(20_000) % 10_000
    frame = pd.DataFrame({"x": kind // 100, "y": draw.normal(size=20_000).round(3), "kind": [f"k{k}" for k in kind]})
    frame.to_csv(tmp_path / "many.csv", index=False)
    result = run("inspect", tmp_path / "many.csv", "--label", "kind")
    assert result.exit_code == 0, result.output
    assert "... 9980 classes between" in result.stdout
    assert "and 9,995 more: too few to tell right labels from wrong" in " ".join(result.stdout.split())
    assert len(result.stdout.splitlines()) < 80


def test_traps_are_looked_for_among_classes_that_can_be_learned():
    """Two samples of each class prove nothing; the rest is looked at as before."""
    rows = torch.randn(3000, 2, generator=torch.Generator().manual_seed(0))
    lonely = torch.arange(3000) // 2
    names = tuple(map(str, range(1500)))
    dataset = Dataset(rows, lonely, names, reading=Reading())
    assert leaks(dataset) == order(dataset) == []
    sorted_by_label = Dataset(rows, torch.where(lonely < 700, 0, torch.where(lonely < 1400, 1, lonely)), names)
    assert "The rows are in the order of their labels" in order(sorted_by_label)[0]


def test_folders_of_photos_as_they_are(run, tmp_path):
    photos = tmp_path / "photos"
    for kind in ("cat", "dog"):
        (photos / kind).mkdir(parents=True)
        for number in range(6):
            pixels = np.random.default_rng(number).integers(0, 255, (12, 12, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(photos / kind / f"{number}.png")
    (photos / "notes.txt").write_text("mine")
    (photos / "cat" / "Thumbs.db").write_bytes(b"x")
    result = run("inspect", photos)
    assert result.exit_code == 0, result.output
    assert "cat/Thumbs.db: not an image file" in " ".join(result.output.split())
    (photos / "elk").mkdir()
    result = run("inspect", photos)
    assert result.exit_code == 0, result.output
    assert "It cannot be used for training as it is" in result.stdout
    assert "class 'elk': it is empty; add images or remove the folder" in " ".join(result.stdout.split())
    assert "12 samples of 3 x 12 x 12, 3 classes" in result.stdout
    (photos / "elk").rmdir()
    (photos / "cat" / "up").symlink_to("..")
    result = run("inspect", photos)
    assert result.exit_code == 2
    assert "which contains it; remove the link" in " ".join(result.output.split())
