"""``reweigh train --data TABLE --candidates``: cells with several labels."""

import csv
import json
import tomllib

import numpy as np
import pytest


@pytest.fixture
def table(tmp_path):
    """A table of three kinds, most of them with a false label beside the right one."""
    generator = np.random.default_rng(0)
    names = ["cat", "dog", "owl"]
    path = tmp_path / "animals.csv"
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["a", "b", "c", "kind"])
        for row in range(150):
            kind = row % 3
            features = generator.normal(size=3) + 4 * np.eye(3)[kind]
            others = [name for name in names if name != names[kind] and generator.random() < 0.5]
            writer.writerow([*features.round(3), "|".join(sorted([names[kind], *others]))])
    return path


def test_several_labels_in_a_cell(table, run, tmp_path):
    out = tmp_path / "run"
    result = run("train", "--data", table, "--label", "kind", "--candidates", "--out", out, "train.epochs=9")
    assert result.exit_code == 0, result.output
    assert "120 samples of 3 features to train on, 3 classes" in result.output
    assert "any of them counts as right" in result.output
    assert "method.name=proden " in result.output
    recipe = tomllib.loads((out / "recipe.toml").read_text())
    assert recipe["data"]["separator"] == "|"
    with open(out / "samples.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert all(row["given_label"] in row["candidates"].split("|") for row in rows)
    assert {len(row["candidates"].split("|")) for row in rows} == {1, 2, 3}
    assert run("report", out, "--out", tmp_path / "page.html").exit_code == 0
    assert "Candidate labels" in (tmp_path / "page.html").read_text()
    again = run("issues", out)
    assert again.exit_code == 0, again.output


@pytest.fixture
def trained(table, run, tmp_path):
    """A run on the table, in which five labels are said to look wrong."""
    out = tmp_path / "run"
    run("train", "--data", table, "--label", "kind", "--candidates", "--out", out, "train.epochs=9")
    with open(out / "samples.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        row["is_label_issue"] = str(row in rows[:5])
        row["suggested_label"] = "dog" if row in rows[:5] else row["suggested_label"]
    (out / "SHA256SUMS").unlink()  # changed on purpose
    with open(out / "samples.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return out


def test_a_corrected_copy_names_the_suggested_class_and_leaves_other_sets(trained, table, run, tmp_path):
    result = run("issues", trained, "--apply", tmp_path / "new.csv")
    assert result.exit_code == 0, result.output
    assert f"--data {tmp_path / 'new.csv'} --label kind --candidates" in result.output
    before, after = (path.read_text().splitlines() for path in (table, tmp_path / "new.csv"))
    assert len(before) == len(after)
    changed = [new for old, new in zip(before, after, strict=True) if old != new]
    assert {line.rpartition(",")[2] for line in changed} == {"dog"}
    assert 1 <= len(changed) <= 5


def test_held_out_sets_are_told_as_they_are_judged(trained):
    accuracy = json.loads((trained / "metrics.jsonl").read_text().splitlines()[-1])["test_accuracy"]
    with open(trained / "test.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert sum(row["label"] == row["predicted"] for row in rows) / len(rows) == pytest.approx(accuracy)


def test_what_goes_with_sets(table, run, tmp_path):
    words = ["train", "--data", table, "--label", "kind", "--candidates", "train.epochs=1"]
    result = run(*words, "method.name=softmax-response", f"data.test={table}", "--out", tmp_path / "run")
    assert result.exit_code == 0, result.output
    for change in ("data.labeled=9", "data.bias=[{name='symmetric', rate=0.2}]"):
        result = run(*words, change, "--out", tmp_path / "other")
        assert result.exit_code == 2
        assert "need one label per sample; these data already have sets of labels" in result.output


def test_data_with_one_label_per_sample_take_no_such_option(run):
    result = run("train", "--data", "digits", "--candidates")
    assert result.exit_code == 2
    assert "--candidates: digits has one label per sample; use data.candidates to draw candidates" in result.output
    assert "--candidates, --drop, --sep, --encoding and --join-labels need --data" in " ".join(
        run("train", "demo", "--candidates").output.split()
    )


def test_cells_with_several_labels_are_recognized(table, run, tmp_path):
    words = "seems to name several candidates"
    assert words in run("inspect", table, "--label", "kind").output
    trained = run("train", "--data", table, "--label", "kind", "--out", tmp_path / "run", "train.epochs=1")
    assert f"{words}; if it does, add --candidates" in trained.output
