"""Errors of the user end in one message and exit code 2; Ctrl-C in 130; help is light."""

import logging
import os
import subprocess
import sys

import pytest
from typer.testing import CliRunner

import reweigh
from reweigh.cli.app import Notes, app
from reweigh.errors import DataError

HEAVY = ["torch", "matplotlib", "pandas", "accelerate", "sklearn", "numpy"]


def run(*words):
    return CliRunner().invoke(app, [*words])


def test_version():
    assert run("--version").output == f"reweigh {reweigh.__version__}\n"


def test_an_error_of_the_user_is_one_message():
    result = run("list", "recipes", "dmo")
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("RecipeError: no recipe named 'dmo'")
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("words", [["--debug", "list", "recipes", "dmo"], ["list", "recipes", "dmo", "--debug"]])
def test_debug_lets_the_traceback_through(words):
    result = run(*words)
    assert isinstance(result.exception, reweigh.RecipeError)


def test_a_wrong_verb_and_a_wrong_option_exit_2():
    assert run("trian").exit_code == 2
    assert run("train", "--ouy", "x").exit_code == 2


@pytest.mark.parametrize(
    ("raised", "code", "message"),
    [
        (DataError("rows 3, 4 hold NaN"), 2, "DataError: rows 3, 4 hold NaN\n"),
        (DataError("which column? Name one", "label"), 2, "Name one (--label COLUMN, or data.label in a recipe)\n"),
        (PermissionError(13, "Permission denied", "runs"), 2, "PermissionError: [Errno 13] Permission denied: 'runs'"),
        (KeyboardInterrupt("interrupted; continue with: reweigh train --resume x"), 130, "reweigh train --resume x"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (MemoryError("malloc of size 9 failed"), 2, "memory ran out: malloc of size 9 failed\nUse a smaller model"),
        (RuntimeError("[...] can't allocate memory: you tried"), 2, "memory ran out: [...] can't allocate memory"),
        (RuntimeError("shapes differ"), 1, "RuntimeError: shapes differ\n"),
    ],
)
def test_exit_codes(monkeypatch, raised, code, message):
    def fail(*arguments):
        raise raised

    monkeypatch.setattr("reweigh.recipes.read.shipped", fail)
    result = run("list", "recipes")
    assert result.exit_code == code
    assert message in result.stderr


def test_python_callers_see_the_argument_that_fixes_an_error():
    assert str(DataError("which column? Name one", "label")) == "which column? Name one (label=...)"
    assert str(DataError("rows 3, 4 hold NaN")) == "rows 3, 4 hold NaN"


def test_what_the_library_says_twice_is_written_once(capsys):
    notes = Notes()
    for message in ("one", "two", "one"):
        notes.emit(logging.LogRecord("reweigh", logging.INFO, "here", 1, message, None, None))
    assert capsys.readouterr().err == "one\ntwo\n"


def modules_after(code, **environment):
    """Which heavy modules a fresh Python has loaded after ``code``."""
    code = f"import sys\n{code}\nprint('|'.join(m for m in {HEAVY} if m in sys.modules), file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ, **environment}
    )
    return done.stderr.splitlines()[-1], done.stdout


def call(*words):
    return f"sys.argv = ['reweigh', *{list(words)}]\nfrom reweigh.cli import main\ntry: main()\nexcept SystemExit: pass"


def test_help_loads_nothing_heavy():
    """All in one process, which says after each of them what is loaded by then."""
    asked = ["--help", "train --help", "issues --help", "predict --help", "export --help",
             "inspect --help", "corrupt --help", "data get --help", "list recipes"]  # fmt: skip
    say = f"print('loaded after {{}}:', *(m for m in {HEAVY} if m in sys.modules))"
    code = "\n".join(f"{call(*words.split())}\n{say.format(words)}" for words in asked)
    heavy, output = modules_after(code)
    assert [line for line in output.splitlines() if line.startswith("loaded after")] == [
        f"loaded after {words}:" for words in asked
    ]
    assert output.count("Usage: reweigh") == len(asked) - 1
    assert "demo" in output.partition("data get --help:")[2]
    assert heavy == ""


def test_import_and_completion_load_nothing_heavy():
    assert modules_after("import reweigh")[0] == ""
    heavy, output = modules_after(
        call(), _REWEIGH_COMPLETE="complete_bash", COMP_WORDS="reweigh train de", COMP_CWORD="2"
    )
    assert (heavy, output.split()) == ("", ["demo"])


def test_public_names_are_found_at_first_use():
    assert reweigh.RecipeError.__name__ == "RecipeError"
    assert set(reweigh.__all__) <= set(dir(reweigh))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        reweigh.nothing  # noqa: B018


@pytest.mark.parametrize(("rank", "said"), [("0", 1), ("1", 0)])
def test_of_several_processes_the_first_reports_a_wrong_option(run, monkeypatch, rank, said):
    for name, value in {"TORCHELASTIC_RUN_ID": "none", "WORLD_SIZE": "2", "RANK": rank}.items():
        monkeypatch.setenv(name, value)
    result = run("compare", "demo", "--seeds", "0")
    assert result.exit_code == 2
    assert result.output.count("Invalid value for '--seeds'") == said
