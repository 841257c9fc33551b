"""The import contract holds the rings: it breaks when one is crossed."""

import os
import shutil
import subprocess
import sys
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


def append(path, line):
    path.write_text(path.read_text() + line)


def test_a_neighbor_an_outer_ring_and_a_stranger_break_the_contract(copy):
    source = copy / "src" / "reweigh"
    assert lint(copy)[0] == 0
    append(source / "data" / "dataset.py", "\nimport reweigh.models\n")
    append(source / "core" / "batch.py", "\nimport reweigh.recipes\n")
    (source / "helpers").mkdir()
    (source / "helpers" / "__init__.py").touch()
    code, words = lint(copy)
    assert code == 1
    for broken in ["reweigh.data is not allowed to import reweigh.models", "reweigh.core is not allowed to import",
                   "reweigh.helpers"]:  # fmt: skip
        assert broken in words
