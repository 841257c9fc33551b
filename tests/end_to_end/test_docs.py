"""The Python of each guide runs as printed, block after block, and so do the scripts of the gallery; in few epochs."""

import re
from pathlib import Path
from typing import Any

import pytest
from matplotlib import pyplot
from typer.testing import CliRunner

from reweigh.cli.app import app

DOCS = Path(__file__).parents[2] / "docs"
GUIDES = [path for path in sorted(DOCS.rglob("*.md")) if "```python" in path.read_text()]
SHORTER = {r"epochs=\d+": "epochs=2", r"range\(20\)": "range(1)", "--seeds 3": "--seeds 2"}


@pytest.fixture(autouse=True)
def _elsewhere_and_for_a_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("reweigh.plan.choose.default_epochs", lambda *facts: 4)  # enough for both looks


def here(command: list[str], **options: Any) -> None:
    """Run a command of reweigh in this process: a new one would have to import torch."""
    assert command[1:3] == ["-m", "reweigh"]
    result = CliRunner().invoke(app, command[3:])
    assert result.exit_code == 0, result.output


def short(code: str) -> str:
    for long, few in SHORTER.items():
        code = re.sub(long, few, code)
    return code


@pytest.mark.parametrize("guide", GUIDES, ids=lambda path: path.stem)
def test_every_block_runs(guide: Path) -> None:
    names: dict[str, object] = {}
    for block in re.findall(r"```python\n(.+?)```", guide.read_text(), re.DOTALL):
        exec(short(block), names)


def test_there_are_guides() -> None:
    assert GUIDES


@pytest.mark.parametrize("script", sorted(DOCS.glob("gallery/*.py")), ids=lambda path: path.stem)
def test_every_script_of_the_gallery_runs(
    script: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("subprocess.run", here)
    pyplot.switch_backend("agg")
    exec(short(script.read_text()), {"__name__": "__main__"})
    assert pyplot.get_fignums()
    assert capsys.readouterr().out
    pyplot.close("all")
