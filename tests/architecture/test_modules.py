"""Modules are small and say in a sentence what they are for."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODULES = sorted((ROOT / "src").rglob("*.py"))


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT / "src")))
def test_a_module_is_small_and_opens_with_its_purpose(path):
    text = path.read_text()
    assert len(text.splitlines()) <= 300
    docstring = ast.get_docstring(ast.parse(text)) or ""
    assert len(docstring.split()) > 3
    assert path.stem not in {"utils", "util", "common", "helpers"}


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
