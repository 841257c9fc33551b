"""How the user's files are written is found out once, and known to every command that looks at them later."""

import shlex

import numpy as np
import pytest

from reweigh.data.source import close_sources
from reweigh.data.tables import frames
from reweigh.review.session import Session
from reweigh.review.subject import of_run

QUICK = ["method.name=cmw-net", "train.epochs=2"]


@pytest.fixture(scope="module")
def piped(tmp_path_factory):
    """A table with decimal commas and | between cells, which looks as if commas separated them."""
    folder = tmp_path_factory.mktemp("piped")
    draw = np.random.default_rng(0)
    rows = [f"{draw.integers(9)},{row % 7}|{3 * (row % 2)},{draw.integers(9)}|{'ab'[row % 2]}" for row in range(80)]
    (folder / "table.csv").write_text("\n".join(["size,x|mass,y|kind", *rows]) + "\n")
    return folder


@pytest.fixture(scope="module")
def trained(piped):
    from typer.testing import CliRunner

    from reweigh.cli.app import app

    words = ["train", "--data", piped / "table.csv", "--label", "kind", "--sep", "|", *QUICK, "--out", piped / "run"]
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == 0, result.output
    return piped / "run"


def test_a_report_shows_the_cells_of_a_table_with_a_given_separator(run, trained):
    result = run("report", trained)
    assert result.exit_code == 0, result.output
    assert "mass,y" in (trained / "report.html").read_text()


def test_a_review_shows_them_too(trained):
    values = Session(of_run(trained), "someone").cards.card(0)["values"]
    assert {name for name, _ in values} == {"size,x", "mass,y"}


def test_the_command_after_a_correction_can_be_run(run, trained, tmp_path):
    result = run("issues", trained, "--apply", tmp_path / "copy.csv", "--top", 3, "--yes")
    assert result.exit_code == 0, result.output
    words = shlex.split(result.stdout.split("Next: reweigh ")[1])
    again = run(*words, *QUICK, "--out", tmp_path / "again")
    assert again.exit_code == 0, again.output


def test_new_data_are_read_like_the_training_data(run, trained):
    result = run("predict", trained, trained.parent / "table.csv")
    assert result.exit_code == 0, result.output
    assert "Compared with the 80 labels in 'kind'" in result.stdout


def test_further_data_of_a_recipe_are_read_like_the_training_data(run, piped, tmp_path):
    words = ["--data", piped / "table.csv", "--label", "kind", "--sep", "|", *QUICK, "--out", tmp_path / "run"]
    result = run("train", *words, f"data.further_tests.more={piped / 'table.csv'}")
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize("more", [[], ["method.name=erm", "data.test_fraction=0.3"]])
def test_training_reads_a_table_once_and_fits_its_columns_once(run, table, tmp_path, monkeypatch, more):
    from reweigh.data.named import own_files

    read, fitted = [], []
    one, fit = frames._read_one, own_files.fit_encoding
    monkeypatch.setattr(frames, "_read_one", lambda *given: read.append(given) or one(*given))
    monkeypatch.setattr(own_files, "fit_encoding", lambda *given, **how: fitted.append(given) or fit(*given, **how))
    close_sources()
    result = run("train", "--data", table, "--label", "kind", "train.epochs=1", *more, "--out", tmp_path / "run")
    assert result.exit_code == 0, result.output
    assert (len(read), len(fitted)) == (1, 1)
