"""The commands and the Python of the README work as printed, shortened where they would take long."""

import re
import shlex
from pathlib import Path
from typing import Any

from PIL import Image
from sklearn.datasets import load_digits
from typer.main import get_group
from typer.testing import CliRunner

from reweigh.cli.app import app

README = (Path(__file__).parents[2] / "README.md").read_text()
SHORT = ["train.epochs=2", "train.warmup_epochs=1"]


def commands():
    """The words of each command of the section on the command line."""
    section = README.partition("## The command line")[2].partition("\n## ")[0]
    lines = re.findall(r"^    reweigh (.+)$", section, re.MULTILINE)
    return [shlex.split(line, comments=True) for line in lines]


def run(*words):
    result = CliRunner().invoke(app, [*words], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def photos(folder):
    """A user's own images."""
    digits, kinds = load_digits(n_class=3, return_X_y=True)
    for number, (image, kind) in enumerate(zip(digits[:60], kinds, strict=False)):
        (folder / str(kind)).mkdir(parents=True, exist_ok=True)
        Image.fromarray((image.reshape(8, 8) * 15).astype("uint8")).save(folder / str(kind) / f"{number}.png")


def decide_and_stop(review):
    """What somebody does on the page: keep a label, then leave."""
    review.session.decide(0, review.session.cards.card(0)["given"])
    review.stop()


def test_the_commands(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        "reweigh.data.named.download.get", lambda name, root, **_: tmp_path
    )  # downloads have tests elsewhere
    monkeypatch.setattr("reweigh.review.server.Review.run", decide_and_stop)  # it would serve until Ctrl-C
    photos(tmp_path / "photos")
    verbs = []
    for verb, *words in commands():
        short = SHORT if verb in ("fix", "train", "compare") and "--resume" not in words else []
        words = ["--seeds=2" if word == "3" else word for word in words if word != "--seeds"]
        output = run(verb, *words, *short)
        verbs.append(verb)
        if verb == "train":
            assert "Run folder: runs/" in output
    assert set(verbs) == set(get_group(app).commands)
    assert (tmp_path / "results.json").is_file()
    files = {path.name for path in (tmp_path / "runs" / "demo-cmw-net-seed0").iterdir()}
    named = re.search(r"A run is a folder: (.+?)\. Nothing", README, re.DOTALL)
    assert named is not None
    assert {name.rstrip("/") for name in re.findall(r"`([^`]+)`", named[1])} == files


def test_the_python():
    code = re.search(r"```python\n(.+?)```", README, re.DOTALL)
    assert code is not None
    assert len([line for line in code[1].splitlines() if line]) <= 12
    names: dict[str, Any] = {}
    exec(code[1], names)
    assert not names["reweighter"].losses.isnan().any()  # each sample was recorded


def test_the_recipe(tmp_path):
    recipe = re.search(r"```toml\n(.+?)```", README, re.DOTALL)
    assert recipe is not None
    path = tmp_path / "recipe.toml"
    path.write_text(recipe[1])
    assert 'name = "cmw-net"' in run("list", "recipes", str(path))
    run("train", str(path), *SHORT, "--out", str(tmp_path / "run"))
