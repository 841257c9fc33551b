"""``reweigh report`` writes a page beside the run or where it is told, and says in one line what it cannot do."""

import re
import shutil

import pytest

UNSEALED = shutil.ignore_patterns("SHA256SUMS")  # the files are changed on purpose

SHORT = ["train.epochs=1", "train.warmup_epochs=0", "model.hidden=[16]"]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    from typer.testing import CliRunner

    from reweigh.cli.app import app

    path = tmp_path_factory.mktemp("runs") / "demo"
    result = CliRunner().invoke(app, ["train", "demo", *SHORT, "--out", str(path)])
    assert result.exit_code == 0, result.stderr
    return path


@pytest.fixture
def folder(trained, tmp_path):
    """A run folder that may be changed."""
    return shutil.copytree(trained, tmp_path / "demo", ignore=UNSEALED)


def test_the_page_lies_in_the_run_and_the_headline_is_said(run, folder):
    (folder / "report.html").write_text("an old one")
    result = run("report", folder)
    assert result.exit_code == 0, result.stderr
    headline, where = result.stdout.splitlines()
    assert re.match(r"\d+ of 1,257 labels look wrong \(\d+\.\d%\)\. The model \(cmw-net\) reaches ", headline)
    assert headline.endswith("% on the test set.")
    assert where.startswith(f"Report: {folder / 'report.html'} (0.")
    page = (folder / "report.html").read_text().replace("\u00a0", " ")
    assert all(part in page for part in headline.split(". ", 1))


def test_several_runs_go_to_the_current_folder_or_where_told(run, folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("reweigh.report.page.to_svg", lambda *of: "")  # figures take the longest, and were drawn above
    other = shutil.copytree(folder, tmp_path / "other", ignore=UNSEALED)
    assert run("report", folder, other).exit_code == 0
    assert "2 runs side by side" in (tmp_path / "report.html").read_text()
    assert run("report", folder, "--out", "mine.html").exit_code == 0
    assert (tmp_path / "mine.html").is_file()
    assert not (folder / "report.html").exists()


def test_bad_input_exits_2_with_a_remedy(run, folder, tmp_path):
    (folder / "samples.csv").write_text("row,given_label\n0,cat\n")
    newer = shutil.copytree(folder, tmp_path / "newer", ignore=UNSEALED)
    with open(newer / "recipe.toml", "a") as recipe:
        recipe.write("\n[quantum]\nentangled = true\n")
    for words, message in [
        ([tmp_path / "nowhere"], "there is no run here"),
        ([newer], "quantum: a recipe has no such section"),
        ([newer], "newer version of reweigh"),
        ([folder], "samples.csv: column 'given_label', row 1: got 'cat'"),
        ([folder, "--out", tmp_path / "no" / "page.html"], f"there is no folder {tmp_path / 'no'}; create it first"),
        ([folder, "--out", tmp_path], "is a folder; give the name of a file"),
    ]:
        result = run("report", *words)
        assert result.exit_code == 2, words
        assert message in result.stderr
        assert "Traceback" not in result.stderr
    assert not list(tmp_path.rglob("*.html"))
