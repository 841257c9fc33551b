"""Few labels by a recipe: data, method, run folder and report fit together."""

import csv
import json

import pytest
from typer.testing import CliRunner

from reweigh.cli.app import app

RECIPE = """
[data]
name = "digits"
train_size = 600
labeled = 50
[model]
name = "mlp"
hidden = [32]
[method]
name = "pseudo-label"
average = 0.9
[train]
epochs = 12
warmup_epochs = 2
batch_size = 64
[optimizer]
name = "sgd"
lr = 0.1
"""


def run(*words):
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    folder = tmp_path_factory.mktemp("few")
    (folder / "few.toml").write_text(RECIPE)
    out = folder / "runs"
    words = ("compare", folder / "few.toml", "--biases", "labeled-50", "--methods", "erm,pseudo-label", "--seeds", 1)
    run(*words, "--out", out)
    return {path.parent.parent.name + path.parent.name: path.parent for path in out.rglob("samples.csv")}


def _of(compared, method):
    return next(path for name, path in compared.items() if method in str(path))


def test_plain_training_has_the_labeled_samples_alone(compared):
    with open(_of(compared, "erm") / "samples.csv") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 50
    assert {row["given_label"] for row in rows} == set("0123456789")


def test_a_method_for_few_labels_has_all(compared):
    folder = _of(compared, "pseudo-label")
    with open(folder / "samples.csv") as file:
        rows = list(csv.DictReader(file))
    assert sum(row["given_label"] == "" for row in rows) == 550
    last = json.loads((folder / "metrics.jsonl").read_text().splitlines()[-1])
    right = sum(row["suggested_label"] == row["true_label"] for row in rows) / 600
    assert last["train_pseudo_right"] > 0.6 < right
    assert last["test_accuracy"] > 0.6


def test_the_report_tells_of_both(compared):
    folder = _of(compared, "pseudo-label")
    run("report", folder)
    page = (folder / "report.html").read_text()
    assert "Only 50 of the 600 training samples have a label" in page
    assert "pseudo-labels that are right" in page.lower()
    run("report", *(_of(compared, method) for method in ("erm", "pseudo-label")), "--out", folder.parent / "both.html")


def test_too_few_labels_are_refused(tmp_path):
    (tmp_path / "few.toml").write_text(RECIPE)
    words = ["train", str(tmp_path / "few.toml"), "data.labeled=9", "--out", str(tmp_path / "x")]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 2
    assert "9 for 10 classes; keep at least one label of each class, 10" in result.stderr
