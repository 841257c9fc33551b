"""Names in files cannot steer the terminal; every unexpected error is one message, not a traceback."""

import re
from pathlib import Path

import pytest

from reweigh.cli import app as app_module
from reweigh.cli.printing import visible

CLI = Path(app_module.__file__).parent
NASTY = "\x1b[2J\x1b]0;title\x07\x08\r\x9b1m\u202egnp"


def test_control_characters_are_shown_escaped():
    assert visible(NASTY) == r"\x1b[2J\x1b]0;title\x07\x08\r\x9b1m\u202egnp"
    assert visible("Zürich\t猫\n👩‍🚀 a\u00a0b") == "Zürich\t猫\n👩‍🚀 a\u00a0b"
    assert visible("\udcff") == r"\udcff"


def test_nothing_is_printed_past_it():
    for path in CLI.glob("*.py"):
        if path.name != "printing.py":
            assert not re.search(r"typer\.echo\(", path.read_text()), path


def test_a_hostile_table(run, tmp_path):
    rows = "".join(f"{i % 7},{i},cat\n{i % 5},{i},{NASTY[:-5]}\n" for i in range(30)).replace("\r", "")
    (tmp_path / "table.csv").write_text(f"a,b\x1b[31m,kind\n{rows}")
    out = tmp_path / "run"
    for words in (
        ["inspect", tmp_path / "table.csv", "--label", "kind"],
        ["train", "--data", tmp_path / "table.csv", "--label", "kind", "--out", out, "train.epochs=2"],
        ["issues", out, "--out", tmp_path / "issues.csv"],
        ["predict", out, tmp_path / "table.csv"],
        ["list", "runs", tmp_path],
        ["predict", out, tmp_path / "\x1b[2J.csv"],
        ["report", out],
    ):
        result = run(*words)
        assert result.exit_code in (0, 2), result.output
        assert "\x1b" not in result.output, words
        assert "\x9b" not in result.output, words


def test_formulas_are_reported_and_escaped_on_request(run, tmp_path, caplog):
    rows = "".join(f"{i % 2 + i / 100},=1+1\n{i % 2 + 5 + i / 90},dog\n" for i in range(40))
    (tmp_path / "table.csv").write_text(f"a,kind\n{rows}9.5,=1+1\n0.1,dog\n")
    out, short = tmp_path / "run", ["method.name=erm", "train.epochs=8"]
    assert run("train", "--data", tmp_path / "table.csv", "--label", "kind", "--out", out, *short).exit_code == 0
    predict = ["predict", out, tmp_path / "table.csv", "--out"]
    assert run(*predict, tmp_path / "p.csv").exit_code == 0
    assert "a spreadsheet would run them as formulas; --spreadsheet-safe" in caplog.text
    assert ",=1+1," in (tmp_path / "p.csv").read_text()
    caplog.clear()
    assert run(*predict, tmp_path / "safe.csv", "--spreadsheet-safe").exit_code == 0
    assert ",'=1+1," in (tmp_path / "safe.csv").read_text()
    assert run("issues", out, "--apply", tmp_path / "c.csv").exit_code == 0
    assert run("issues", out, "--apply", tmp_path / "s.csv", "--spreadsheet-safe").exit_code == 0
    assert "\n1.01,=1+1" in (tmp_path / "c.csv").read_text()
    assert "\n1.01,'=1+1" in (tmp_path / "s.csv").read_text()


@pytest.mark.parametrize("error", [ValueError("odd"), RecursionError("deep"), AssertionError("never")])
def test_an_unexpected_error_is_one_message(run, monkeypatch, error):
    def fail(*arguments, **options):
        raise error

    monkeypatch.setattr("reweigh.recipes.read.read", fail)
    result = run("list", "recipes", "demo")
    assert result.exit_code == 1
    assert f"{type(error).__name__}: " in result.stderr
    assert "--debug" in result.stderr
    assert run("list", "recipes", "demo", "--debug").exception is error
    assert run("list", "--nonsense").exit_code == 2
