"""Labels by several labelers from the command line."""

import csv

import numpy as np
import pytest

from reweigh.data import read


@pytest.fixture
def voted(tmp_path):
    """A table with three columns of labels, of which the last is bad, and the same votes as a long table."""
    random = np.random.default_rng(0)
    true = random.integers(0, 2, 150)
    header, rows, long = ["x", "z", "ann", "bob", "eve"], [], ["sample,labeler,label"]
    for row, label in enumerate(true):
        said = [("cat", "dog")[label ^ int(random.random() < rate)] for rate in (0.05, 0.15, 0.45)]
        said = [each if random.random() < 0.8 else "" for each in said]
        rows.append([f"{label * 3 + random.normal():.4f}", f"{random.normal():.4f}", *said])
        long += [f"{row},{who},{each}" for who, each in zip(header[2:], said, strict=True) if each]
    (tmp_path / "wide.csv").write_text("\n".join(map(",".join, [header, *rows])) + "\n")
    (tmp_path / "plain.csv").write_text("\n".join(",".join(row[:2]) for row in [header, *rows]) + "\n")
    (tmp_path / "votes.csv").write_text("\n".join(long) + "\n")
    return tmp_path


def table(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def test_columns_and_a_file_of_votes_give_the_same_run_with_all_its_tables(voted, run):
    quick = ["train.epochs=4", "method.beside=none"]
    first = run("train", "--data", voted / "wide.csv", "--label", "ann,bob,eve", "--out", voted / "first", *quick)
    assert first.exit_code == 0, first.output
    assert "Labelers" in first.output
    assert "of the consensus labels are wrong" in first.output
    second = run("train", "--data", voted / "plain.csv", "--votes", voted / "votes.csv", "--out", voted / "two", *quick)
    assert second.exit_code == 0, second.output
    for name in ("samples.csv", "labelers.csv", "votes.csv", "next_labels.csv"):
        assert (voted / "first" / name).read_text() == (voted / "two" / name).read_text()
    accuracy = {row["labeler"]: float(row["accuracy"]) for row in table(voted / "first/labelers.csv")}
    assert accuracy["ann"] > accuracy["bob"] > accuracy["eve"]
    samples = {row["row"]: row for row in table(voted / "first/samples.csv")}
    assert all(row["row"] in samples for row in table(voted / "first/votes.csv"))
    assert all(": cat" in row["votes"] or ": dog" in row["votes"] for row in samples.values())
    assert run("report", voted / "first").exit_code == 0
    page = (voted / "first/report.html").read_text()
    assert "Labelers" in page
    assert "ann: " in page
    copied = run("issues", voted / "first", "--apply", voted / "labels.csv", "--top", "3")
    assert copied.exit_code == 0, copied.output
    words = ["--labels", voted / "labels.csv", "--drop", "ann", "--drop", "bob", "--drop", "eve"]
    again = run("train", "--data", voted / "wide.csv", *words, "--out", voted / "again", *quick)
    assert again.exit_code == 0, again.output


def test_votes_need_data(run, voted):
    outcome = run("train", "demo", "--votes", voted / "votes.csv")
    assert outcome.exit_code == 2
    assert "--votes" in outcome.output
    assert "need --data" in outcome.output


def test_votes_take_the_place_of_other_labels(run, voted):
    words = ["--votes", voted / "votes.csv", "--labels", voted / "votes.csv"]
    outcome = run("train", "--data", voted / "plain.csv", *words, "--out", voted / "run")
    assert outcome.exit_code == 2
    assert "votes take the place of other labels" in outcome.output


@pytest.mark.parametrize("label", ["ann,bob,eve", "eve"])
def test_labels_that_votes_replace_are_no_features(voted, label):
    found = read(voted / "wide.csv", label=label, votes=voted / "votes.csv")
    assert not {*label.split(",")} & {column.name for column in found.reading.encoding.columns}
    assert found.votes.labelers == ("ann", "bob", "eve")
