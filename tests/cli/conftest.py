"""Small data of every kind on disk."""

import numpy as np
import pytest
from typer.testing import CliRunner

from reweigh.cli.app import app


@pytest.fixture
def run():
    """Runs a command; gives its result."""
    return lambda *words: CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture
def table(tmp_path):
    """A table with a missing value, two contradicting rows and a long tail."""
    path = tmp_path / "table.csv"
    draw = np.random.default_rng(0)
    rows = [f"{draw.normal():.6f},{draw.normal():.6f},{kind}" for kind in ["cat"] * 60 + ["ankle boot"] * 12]
    rows[3] = ",0.5,cat"
    rows[70] = rows[5].replace("cat", "ankle boot")
    path.write_text("\n".join(["a,b,kind", *rows]) + "\n")
    return path


@pytest.fixture
def images(tmp_path):
    """A folder of images, one of them broken."""
    from PIL import Image

    draw = np.random.default_rng(0)
    for kind in ("cat", "dog"):
        folder = tmp_path / "images" / kind
        folder.mkdir(parents=True)
        for number in range(15):
            pixels = draw.integers(0, 256, (6, 6, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(folder / f"{number}.png")
    (tmp_path / "images" / "cat" / "broken.png").write_bytes(b"no image")
    return tmp_path / "images"
