"""The ``>>>`` examples of docstrings run and print what they say."""

import doctest
from importlib import import_module
from pathlib import Path

import pytest

SRC = Path(__file__).parents[2] / "src"
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(SRC).with_suffix("").parts).removesuffix(".__init__")


WITH_EXAMPLES = [name_of(path) for path in sorted(SRC.rglob("*.py")) if ">>> " in path.read_text()]


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_examples_run_as_printed(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    report: list[str] = []
    found = doctest.DocTestFinder(exclude_empty=True).find(import_module(name))
    assert any(test.examples for test in found), f"{name}: no docstring holds the example"
    for test in found:
        runner.run(test, out=report.append)
    assert not report, "".join(report)
