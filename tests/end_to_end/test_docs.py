"""The Python of each guide runs as printed, block after block; scripts of the gallery run with fewer epochs."""

import re
from pathlib import Path

import pytest
from matplotlib import pyplot

DOCS = Path(__file__).parents[2] / "docs"
GUIDES = [path for path in sorted(DOCS.rglob("*.md")) if "```python" in path.read_text()]


@pytest.mark.parametrize("guide", GUIDES, ids=lambda path: path.stem)
def test_every_block_runs(guide: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in re.findall(r"```python\n(.+?)```", guide.read_text(), re.DOTALL):
        exec(block, names)


def test_there_are_guides() -> None:
    assert GUIDES


@pytest.mark.parametrize("script", sorted(DOCS.glob("gallery/*.py")), ids=lambda path: path.stem)
def test_every_script_of_the_gallery_runs(
    script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    pyplot.switch_backend("agg")
    short = re.sub(r"epochs=\d+", "epochs=2", script.read_text()).replace("range(20)", "range(1)")
    exec(short, {"__name__": "__main__"})
    assert pyplot.get_fignums()
    assert capsys.readouterr().out
    pyplot.close("all")
