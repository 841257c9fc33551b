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
    unlabeled = [row for row in rows if row["given_label"] == ""]
    assert len(unlabeled) == 90
    assert {row["label_quality"] for row in unlabeled} == {""}
    assert sum(json.loads((tmp_path / "run" / "classes.json").read_text())["sizes"]) == 114
    again = run("train", tmp_path / "run", "--out", tmp_path / "again")
    assert again.exit_code == 0, again.output
    assert (tmp_path / "again" / "samples.csv").read_text() == (tmp_path / "run" / "samples.csv").read_text()
    assert run("report", tmp_path / "run").exit_code == 0
    assert run("issues", tmp_path / "run").exit_code == 0


def test_a_corrected_label_file_keeps_gaps_and_the_calibration_part(run, tmp_path):
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 2, 120)
    names = np.where(np.arange(120) < 60, np.array(["a", "b"])[kind], "")
    np.savez(tmp_path / "arrays.npz", inputs=rng.normal(kind[:, None], 0.2, (120, 2)).astype(np.float32), labels=names)
    words = ["method.name=pseudo-label", "train.abstain=0.2", "train.epochs=3"]
    result = run("train", "--data", tmp_path / "arrays.npz", *words, "--out", tmp_path / "run")
    assert result.exit_code == 0, result.output
    assert "of 60 labels" in run("issues", tmp_path / "run").output.replace("\n", " ")
    result = run("issues", tmp_path / "run", "--apply", tmp_path / "new.csv")
    assert result.exit_code == 0, result.output
    assert "data.unlabeled=true" in result.output
    with open(tmp_path / "new.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["index"]) for row in rows] == list(range(120))
    assert [row["label"] for row in rows[60:]] == [""] * 60
    assert sum(row["label"] == name for row, name in zip(rows[:60], names[:60], strict=True)) > 45


def test_any_other_method_leaves_them_out(table, run, tmp_path, caplog):
    result = run("train", "--data", table, "--label", "kind", "train.epochs=2", "--out", tmp_path / "run")
    assert result.exit_code == 0, result.output
    assert "90 rows without a label left out; method.name=pseudo-label learns from these too" in caplog.text
