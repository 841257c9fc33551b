"""The Python of each guide runs as printed, block after block."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
GUIDES = [path for path in sorted(DOCS.glob("*.md")) if "```python" in path.read_text()]


@pytest.mark.parametrize("guide", GUIDES, ids=lambda path: path.stem)
def test_every_block_runs(guide: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in re.findall(r"```python\n(.+?)```", guide.read_text(), re.DOTALL):
        exec(block, names)


def test_there_are_guides() -> None:
    assert GUIDES
