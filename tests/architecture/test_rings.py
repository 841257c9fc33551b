"""The import contract holds the rings: it breaks when one is crossed."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def copy(tmp_path):
    """The source in a folder where it may be spoiled."""
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def lint(folder):
    """Exit code and words of import-linter; the copy comes before whatever is installed."""
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "from importlinter.cli import lint_imports_command; lint_imports_command()",
            "--no-cache",
        ],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder / "src")},
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout


def rings():
    """The folders of each ring, from the outermost to the innermost, as pyproject.toml lists them."""
    (contract,) = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    folders = {path.name for path in (ROOT / "src" / "reweigh").iterdir() if (path / "__init__.py").exists()}
    found = [[name for name in re.findall(r"\w+", ring) if name in folders] for ring in contract["layers"]]
    return [ring for ring in found if ring]


def test_a_neighbor_an_outer_ring_and_a_stranger_break_the_contract(copy):
    source = copy / "src" / "reweigh"
    assert lint(copy)[0] == 0
    outer, inner = rings()[0][0], rings()[-1][0]
    one, other = max(rings(), key=len)[:2]
    for importer, imported in [(one, other), (inner, outer)]:
        (source / importer / "wrong.py").write_text(f"import reweigh.{imported}\n")
    (source / "helpers").mkdir()
    (source / "helpers" / "__init__.py").touch()
    code, words = lint(copy)
    assert code == 1
    assert f"reweigh.{one} is not allowed to import reweigh.{other}" in words
    assert f"reweigh.{inner} is not allowed to import reweigh.{outer}" in words
    assert "reweigh.helpers" in words
