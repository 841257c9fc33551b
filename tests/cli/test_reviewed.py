"""The loop closes: train, review, train again with what was decided."""

import csv
import random
import shutil
import tomllib

import pytest
from typer.testing import CliRunner

from reweigh.cli.app import app
from reweigh.fit.decisions import Decision, Decisions
from reweigh.review import Review, of_run


def queue(session, wanted):
    """Indices of the samples that the wall shows, in order."""
    return [index for group in session.wall(wanted) for index in group["index"]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table of 240 rows with a wrong label in every eighth, and a run on it."""
    path = tmp_path_factory.mktemp("loop")
    rng = random.Random(0)
    with open(path / "table.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["customer", "size", "weight", "kind"])
        for row in range(240):
            small = row % 2
            kind = "small" if small != (row % 8 == 3) else "large"
            writer.writerow([f"C-{row}", rng.gauss(1 - 2 * small, 0.4), rng.gauss(2 * small - 1, 0.4), kind])
    run(
        path,
        "--data",
        path / "table.csv",
        "--label",
        "kind",
        "--out",
        path / "run",
        "method.name=erm",
        "train.epochs=4",
    )
    return path


def run(folder, *arguments, code=0):
    result = CliRunner().invoke(app, ["train", *map(str, arguments)])
    assert result.exit_code == code, result.output
    return " ".join(result.output.split())


def test_decisions_become_labels_that_are_trusted(folder):
    review = Review(of_run(folder / "run"), "ann")
    session = review.session
    assert session.cards.card(0)["name"].startswith("customer C-")
    with open(folder / "run" / "samples.csv", newline="") as file:
        trained = {int(line["row"]) for line in csv.DictReader(file) if int(line["row"]) % 8 == 3}
    judged = [index for index in queue(session, {"show": "all"}) if session._rows[index] in trained][:6]
    for index in judged:
        session.decide(index, 1 - session.cards.card(index)["given"])
    review.stop()
    rows = {session._rows[index] for index in judged}
    said = run(folder, "--reviewed", folder / "run", "--out", folder / "again")
    assert "held-out samples:" in said
    with open(folder / "again" / "samples.csv", newline="") as file:
        table = {int(line["row"]): line for line in csv.DictReader(file)}
    for row in rows:
        assert table[row]["given_label"] == ("small" if row % 2 else "large")
        assert (table[row]["label_quality"], table[row]["is_label_issue"]) == ("1", "False")
    recipe = tomllib.loads((folder / "again" / "recipe.toml").read_text())
    assert recipe["data"]["decisions"] == 6

    # later decisions do not change a run that was made before
    Decisions(folder / "run" / "decisions.jsonl").add(Decision(10**6, "small", "large", "bo"))
    run(folder, folder / "again", "--out", folder / "third")
    for name in ("samples.csv", "test.csv"):
        assert (folder / "third" / name).read_bytes() == (folder / "again" / name).read_bytes()
    said = run(folder, "--reviewed", folder / "run", "--out", folder / "fourth", code=2)
    assert "that the data do not have" in said


def test_a_run_that_nobody_reviewed(folder):
    assert "reweigh review" in run(folder, "--reviewed", folder / "again", code=2)
    assert "no such file or folder" in run(folder, "--reviewed", folder / "nowhere", code=2)


def test_what_was_decided_is_applied_to_a_copy(folder, tmp_path):
    reviewed = tmp_path / "run"
    shutil.copytree(folder / "run", reviewed, ignore=shutil.ignore_patterns("decisions.jsonl*"))
    ann, bob = (Review(of_run(reviewed), name) for name in ("ann", "bob"))
    changed, kept, unsure, disputed, undone = queue(ann.session, {"show": "all"})[:5]
    given = {index: ann.session.cards.card(index)["given"] for index in (changed, kept, unsure, disputed, undone)}
    for index in (changed, disputed, undone):
        ann.session.decide(index, 1 - given[index])
    ann.session.decide(kept, given[kept])
    ann.session.decide(unsure, None)
    ann.session.undo(undone)
    bob.session.decide(disputed, given[disputed])
    rows = ann.session._rows
    for review in (ann, bob):
        review.stop()
    target = tmp_path / "corrected.csv"
    words = ["issues", reviewed, "--apply", target, "--apply-from", reviewed]
    result = CliRunner().invoke(app, [*map(str, words)])
    assert result.exit_code == 0, result.output
    before, after = ((path).read_text().splitlines()[1:] for path in (folder / "table.csv", target))
    differs = {
        row: new.rpartition(",")[2] for row, (old, new) in enumerate(zip(before, after, strict=True)) if old != new
    }
    assert differs == {rows[changed]: ("large", "small")[1 - given[changed]]}


def test_what_was_left_out_is_in_no_copy_and_no_training(folder, tmp_path):
    reviewed = tmp_path / "run"
    shutil.copytree(folder / "run", reviewed, ignore=shutil.ignore_patterns("decisions.jsonl*"))
    ann, bob = (Review(of_run(reviewed), name) for name in ("ann", "bob"))
    found = queue(ann.session, {"show": "all"})
    ann.session.decide(found[:3], exclude="no-class")
    bob.session.decide(found[0], exclude="unusable")  # another reason for the same is no disagreement
    bob.session.decide(found[1], "given")
    rows = {ann.session._rows[found[place]] for place in (0, 2)}
    assert {ann.session.subject.samples.row[index] for index in ann.excluded().nonzero()[0]} == rows
    for review in (ann, bob):
        review.stop()
    target = tmp_path / "corrected.csv"
    words = ["issues", reviewed, "--apply", target, "--apply-from", reviewed]
    result = CliRunner().invoke(app, [*map(str, words)])
    assert result.exit_code == 0, result.output
    assert "(left out)" in result.output
    before, after = (path.read_text().splitlines()[1:] for path in (folder / "table.csv", target))
    assert after == [line for row, line in enumerate(before) if row not in rows]
    run(folder, "--reviewed", reviewed, "--out", tmp_path / "again")
    there = set()
    for name in ("samples.csv", "held_out.csv"):
        with open(tmp_path / "again" / name, newline="") as file:
            there |= {int(line["row"]) for line in csv.DictReader(file)}
    assert there == set(range(len(before))) - rows


def test_a_run_that_nobody_reviewed_changes_nothing(folder, tmp_path):
    run_folder = tmp_path / "run"
    shutil.copytree(folder / "run", run_folder, ignore=shutil.ignore_patterns("decisions.jsonl*"))
    words = ["issues", run_folder, "--apply", tmp_path / "new.csv", "--apply-from", run_folder]
    result = CliRunner().invoke(app, [*map(str, words)])
    assert result.exit_code == 2
    assert "reweigh review" in " ".join(result.stderr.split())
    assert not (tmp_path / "new.csv").exists()


def test_held_out_rows_are_reviewed_and_tested_by_what_was_decided(folder, tmp_path):
    reviewed = tmp_path / "run"
    shutil.copytree(folder / "run", reviewed, ignore=shutil.ignore_patterns("decisions.jsonl*"))
    with open(reviewed / "held_out.csv", newline="") as file:
        held_out = {int(line["row"]): line["given_label"] for line in csv.DictReader(file)}
    review = Review(of_run(reviewed), "ann")
    session = review.session
    cards = [session.cards.card(index) for index in queue(session, {"show": "all"})]
    assert sorted(card["row"] for card in cards) == list(range(240))
    table = (folder / "table.csv").read_text().splitlines()[1:]
    for card in cards:
        customer, size, weight, _ = table[card["row"]].split(",")
        assert card["name"] == f"customer {customer}"
        assert dict(card["values"]) == {"size": f"{float(size):.6g}", "weight": f"{float(weight):.6g}"}
        assert card["held_out"] == (card["row"] in held_out)
    wrong = next(card for card in cards if card["held_out"] and card["row"] % 8 == 3)
    session.cards.similar(wrong["index"])
    session.decide(wrong["index"], 1 - wrong["given"])
    review.stop()
    run(folder, "--reviewed", reviewed, "--out", tmp_path / "again")
    with open(tmp_path / "again" / "held_out.csv", newline="") as file:
        after = {int(line["row"]): line["given_label"] for line in csv.DictReader(file)}
    assert {row for row in held_out if held_out[row] != after[row]} == {wrong["row"]}
