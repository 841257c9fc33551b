"""Small data of every kind on disk."""

import json

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


@pytest.fixture(scope="session")
def own(tmp_path_factory):
    """A folder with data of a user and short runs on them: ``table-run`` and ``photos-run``."""
    from PIL import Image
    from sklearn.datasets import load_digits

    folder = tmp_path_factory.mktemp("own")
    digits, kinds = load_digits(n_class=3, return_X_y=True)
    pixels = (digits[:90].reshape(-1, 8, 8) * 15.9).astype(np.uint8)
    for number, (image, kind) in enumerate(zip(pixels, kinds[:90], strict=True)):
        place = folder / "photos" / f"digit {(kind + (number % 15 == 0)) % 3}"
        place.mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(place / f"{number:03}.png")
    (folder / "photos" / "digit 0" / "broken.png").write_bytes(b"no image")
    np.savez(folder / "arrays.npz", X=pixels, y=kinds[:90])

    draw = np.random.default_rng(0)
    lines = ["id,age,town,note,kind"]
    for row in range(120):
        cat = row % 2
        town = draw.choice(["Ulm", "Bonn"] if cat else ["Kiel", "Bonn"])
        age = "" if row == 7 else f"{draw.normal(20 + 30 * cat, 3):.2f}"
        lines.append(f'{row},{age},{town},"a, ""b""",{"NA" if cat ^ (row % 20 == 0) else "dog"}')
    (folder / "table.csv").write_text("\r\n".join(lines) + "\r\n", newline="")

    def train(name, *words):
        words = ["train", "--data", str(folder / name), *words, "--out", str(folder / f"{name.split('.')[0]}-run")]
        result = CliRunner().invoke(app, words)
        assert result.exit_code == 0, result.output
        return result.output

    told = {"table.csv": train("table.csv", "--label", "kind", "method.name=cmw-net", "train.epochs=12"),
            "photos": train("photos", "method.name=cmw-net-sl", "train.epochs=6")}  # fmt: skip
    (folder / "told.json").write_text(json.dumps(told))
    return folder
