"""``reweigh train --data`` on a table with empty label cells."""

import csv
import json

import numpy as np
import pytest


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 2, 120)
    rows = [(k + rng.normal(0, 0.2), "ab"[k] if row < 30 else "") for row, k in enumerate(kind)]
    (tmp_path / "table.csv").write_text("width,kind\n" + "".join(f"{x:.4f},{name}\n" for x, name in rows))
    return tmp_path / "table.csv"


def test_a_method_for_few_labels_takes_them_as_unlabeled(table, run, tmp_path):
    words = ["train", "--data", table, "--label", "kind", "method.name=pseudo-label", "train.epochs=12"]
    result = run(*words, "--out", tmp_path / "run")
    assert result.exit_code == 0, result.output
    with open(tmp_path / "run" / "samples.csv") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 114
    unlabeled = [row for row in rows if row["given_label"] == "-1"]
    assert len(unlabeled) == 90
    assert {row["label_quality"] for row in unlabeled} == {""}
    assert sum(json.loads((tmp_path / "run" / "classes.json").read_text())["sizes"]) == 114
    again = run("train", tmp_path / "run", "--out", tmp_path / "again")
    assert again.exit_code == 0, again.output
    assert (tmp_path / "again" / "samples.csv").read_text() == (tmp_path / "run" / "samples.csv").read_text()
    assert run("report", tmp_path / "run").exit_code == 0
    assert run("issues", tmp_path / "run").exit_code == 0


def test_any_other_method_says_what_to_do(table, run, tmp_path):
    result = run("train", "--data", table, "--label", "kind", "--out", tmp_path / "run")
    assert result.exit_code == 2
    assert "90 of 120 are missing" in result.stderr
    assert "method.name=pseudo-label" in result.stderr
