"""Modules are small and say in a sentence what they are for; all of them together keep to a budget of lines."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODULES = sorted((ROOT / "src").rglob("*.py"))
MAX_MODULE_LINES = 400
MAX_SRC_LINES = 41_720  # the aim is 34,500


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT / "src")))
def test_a_module_is_small_and_opens_with_its_purpose(path):
    text = path.read_text()
    assert len(text.splitlines()) <= MAX_MODULE_LINES
    docstring = ast.get_docstring(ast.parse(text)) or ""
    assert len(docstring.split()) > 3
    assert path.stem not in {"utils", "util", "common", "helpers"}


def test_the_source_keeps_to_its_budget():
    lines = sum(len(path.read_text().splitlines()) for path in MODULES)
    assert lines <= MAX_SRC_LINES, (
        f"src has {lines:,} lines, {lines - MAX_SRC_LINES:,} more than its budget: take something away. "
        "To raise MAX_SRC_LINES, name under 'Removed' in CHANGELOG.md what was taken away."
    )


def test_the_library_never_prints():
    for path in MODULES:
        if "cli" not in path.parts and path.name != "progress.py":
            assert not re.search(r"^\s*print\(", path.read_text(), re.MULTILINE), path


def test_nothing_is_pickled():
    for path in MODULES:
        text = path.read_text()
        assert not re.search(r"import pickle|torch\.save\(|allow_pickle=True", text), path
        for call in re.findall(r"torch\.load\([^)]*\)", text):  # only such that cannot run code
            assert "weights_only=True" in call, path
