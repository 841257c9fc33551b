"""``reweigh issues``: what samples.csv says, by the user's own names, and a corrected copy beside the data."""

import csv
import shutil

import pytest

from reweigh.cli.issues import show
from reweigh.data.named.own_files import files
from reweigh.data.tables.frames import read_frame

UNSEALED = shutil.ignore_patterns("SHA256SUMS")  # the files are changed on purpose

TABLE = {"path": "table.csv", "label": "kind"}


def rows_of(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def expected(own, name, **options):
    """Row and suggested class of each label issue, from the order of both files and a second reading of the data."""
    parts = files(own, **options)
    issues = {
        int(part.origin[index]): row["suggested_label"]
        for file, part in (("samples.csv", parts.train), ("held_out.csv", parts.test))
        for index, row in enumerate(rows_of(own / name / file))
        if row["is_label_issue"] == "True"
    }
    assert issues
    return issues, parts.train


def test_all_issues_of_a_table_by_row_and_class_name(own, run, tmp_path):
    result = run("issues", own / "table-run", "--out", tmp_path / "issues.csv", "--top", 2)
    assert result.exit_code == 0, result.output
    wanted, _ = expected(own, "table-run", **TABLE)
    found = rows_of(tmp_path / "issues.csv")
    assert list(found[0]) == ["row", "given_label", "suggested_label", "label_quality", "weight"]
    assert {int(row["row"]): row["suggested_label"] for row in found} == wanted
    table = rows_of(own / "table.csv")
    assert all(row["given_label"] == table[int(row["row"])]["kind"] for row in found)
    qualities = [float(row["label_quality"]) for row in found]
    assert qualities == sorted(qualities)
    assert f"{len(found)} of 120 labels" in result.stdout
    assert f"These are the worst 2; --out issues.csv writes all {len(found)}." in result.stdout


def test_a_corrected_table_differs_in_those_labels_only(own, run, tmp_path):
    before = (own / "table.csv").read_bytes()
    result = run("issues", own / "table-run", "--apply", tmp_path / "cleaned.csv")
    assert result.exit_code == 0, result.output
    assert f"reweigh train --data {tmp_path / 'cleaned.csv'} --label kind" in result.stdout
    assert (own / "table.csv").read_bytes() == before
    after = (tmp_path / "cleaned.csv").read_bytes()
    wanted, _ = expected(own, "table-run", **TABLE)
    assert before.count(b"\r\n") == after.count(b"\r\n") == 121
    changed = {
        row: (old.rpartition(b",")[0] == new.rpartition(b",")[0], new.rpartition(b",")[2].decode())
        for row, (old, new) in enumerate(zip(before.split(b"\r\n")[1:], after.split(b"\r\n")[1:], strict=True))
        if old != new
    }
    assert changed == {row: (True, label) for row, label in wanted.items()}


@pytest.mark.parametrize("end", [",", ""])
def test_rows_with_a_last_separator_are_copied(run, tmp_path, end):
    lines = [f"{row * 7 % 5},{'ab'[row % 2]}{end}" for row in range(40)]
    (tmp_path / "table.csv").write_text("\n".join(["number,label", *lines]))
    words = ["method.name=erm", "train.epochs=1", "--out", tmp_path / "run"]
    assert run("train", "--data", tmp_path / "table.csv", *words).exit_code == 0
    result = run("issues", tmp_path / "run", "--apply", tmp_path / "copy.csv", "--top", "3", "--yes")
    assert result.exit_code == 0, result.output
    before, after = read_frame(tmp_path / "table.csv"), read_frame(tmp_path / "copy.csv")
    assert (tmp_path / "copy.csv").read_text().splitlines()[0] == "number,label"
    assert after["number"].tolist() == before["number"].tolist()
    assert (after["label"] != before["label"]).sum() == 3
    assert {*after["label"]} == {"a", "b"}


def test_a_parquet_table_keeps_its_types(own, run, tmp_path):
    pytest.importorskip("pyarrow")
    import pandas as pd

    frame = pd.read_csv(own / "table.csv", keep_default_na=False)
    frame["kind"] = (frame["kind"] == "NA").astype(int) + 3
    frame["age"] = pd.to_numeric(frame["age"])
    frame.to_parquet(tmp_path / "table.parquet")
    words = ["--label", "kind", "train.epochs=8", "--out", tmp_path / "run"]
    assert run("train", "--data", tmp_path / "table.parquet", *words).exit_code == 0
    result = run("issues", tmp_path / "run", "--apply", tmp_path / "cleaned.parquet")
    assert result.exit_code == 0, result.output
    wanted, _ = expected(tmp_path, "run", path="table.parquet", label="kind")
    cleaned = pd.read_parquet(tmp_path / "cleaned.parquet")
    assert cleaned.drop(columns="kind").equals(frame.drop(columns="kind"))
    assert cleaned["kind"].dtype == frame["kind"].dtype
    differs = cleaned["kind"] != frame["kind"]
    assert {row: str(cleaned["kind"][row]) for row in differs[differs].index} == wanted


def test_images_are_called_by_their_files_and_corrected_by_a_label_file(own, run, tmp_path):
    result = run("issues", own / "photos-run", "--out", tmp_path / "i.csv", "--apply", tmp_path / "labels.csv")
    assert result.exit_code == 0, result.output
    wanted, train = expected(own, "photos-run", path="photos")
    names = train.reading.names
    assert {row["name"]: row["suggested_label"] for row in rows_of(tmp_path / "i.csv")} == {
        names[place]: label for place, label in wanted.items()
    }
    written = rows_of(tmp_path / "labels.csv")
    assert [row["name"] for row in written] == list(names)
    assert [row["label"] for row in written] == [
        wanted.get(place, name.split("/")[0]) for place, name in enumerate(names)
    ]
    again = ["--data", own / "photos", "--labels", tmp_path / "labels.csv", "train.epochs=1", "method.name=erm"]
    trained = run("train", *again, "--out", tmp_path / "run")
    assert trained.exit_code == 0, trained.output


def test_samples_join_to_the_table_by_row(own, run):
    """The training part is a shuffled subset; its rows are still those of the user's file."""
    samples, table = rows_of(own / "table-run" / "samples.csv"), rows_of(own / "table.csv")
    rows = [int(row["row"]) for row in samples]
    assert len(set(rows)) == len(rows) == 96 < len(table)
    assert rows != list(range(96))
    assert [row["given_label"] for row in samples] == [table[row]["kind"] for row in rows]


@pytest.mark.parametrize("name", ["table", "photos"])
def test_the_list_does_not_need_the_data_but_a_copy_does(own, run, tmp_path, name):
    shutil.copytree(own / f"{name}-run", tmp_path / "run", ignore=UNSEALED)
    recipe = tmp_path / "run" / "recipe.toml"
    recipe.write_text(recipe.read_text().replace("table.csv", "gone.csv").replace("/photos", "/gone"))
    result = run("issues", tmp_path / "run", "--out", tmp_path / "issues.csv")
    assert result.exit_code == 0, result.output
    assert run("issues", own / f"{name}-run", "--out", tmp_path / "with.csv").exit_code == 0
    assert (tmp_path / "issues.csv").read_text() == (tmp_path / "with.csv").read_text()
    refused = run("issues", tmp_path / "run", "--apply", tmp_path / "cleaned.csv")
    assert refused.exit_code == 2
    assert "the data of the run are no longer there; move them back, or put a link there" in refused.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["{own}"], "there is no run here"),
        (["{own}/table-run", "--apply", "{own}/table.csv", "--overwrite"], "would write into the data"),
        (["{own}/photos-run", "--apply", "{own}/photos/x.csv"], "would write into the data"),
        (["{own}/table-run", "--apply", "x.npy"], "a copy of this table ends in .csv; got '.npy'"),
        (["{own}/photos-run", "--apply", "x.npy"], "a label file ends in .csv; got '.npy'"),
        (["{own}/table-run", "--apply", "taken.csv"], "already exists; replace it with --overwrite"),
        (["{own}/table-run", "--out", "taken.csv"], "already exists; replace it with --overwrite"),
        (["{own}/table-run", "--out", "nowhere/x.csv"], "there is no folder nowhere"),
        (["{own}/table-run", "--out", "x.csv", "--apply", "x.csv"], "give two names"),
    ],
)
def test_bad_input(own, run, tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "taken.csv").write_text("mine")
    before = (own / "table.csv").read_bytes()
    result = run("issues", *[word.format(own=own) for word in words])
    assert result.exit_code == 2
    assert message in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["taken.csv"]
    assert (tmp_path / "taken.csv").read_text() == "mine"
    assert (own / "table.csv").read_bytes() == before


def test_a_run_that_has_not_ended_one_of_a_newer_version_and_a_biased_one(own, run, tmp_path):
    shutil.copytree(own / "table-run", tmp_path / "run", ignore=UNSEALED)
    (tmp_path / "run" / "samples.csv").unlink()
    assert f"reweigh train --resume {tmp_path / 'run'}" in run("issues", tmp_path / "run").stderr
    recipe = tmp_path / "run" / "recipe.toml"
    recipe.write_text(recipe.read_text().replace("[method]", "[method]\nfuture = 1"))
    newer = run("issues", tmp_path / "run")
    assert newer.exit_code == 2
    assert "cmw-net has no option 'future'" in newer.stderr
    assert "If a newer version of reweigh made this run, update to read it." in newer.stderr
    assert run("train", "demo", "train.epochs=2", "method.name=erm", "--out", tmp_path / "demo").exit_code == 0
    refused = run("issues", tmp_path / "demo", "--apply", tmp_path / "x.csv")
    assert refused.exit_code == 2
    assert "digits is a named dataset" in refused.stderr


@pytest.mark.parametrize("labels", [2, 100])
def test_more_wrong_labels_than_right_ones_mean_a_weak_model(capsys, labels):
    header = ("row", "given_label", "suggested_label", "label_quality", "weight")
    show("run", [header, ("3", "cat", "dog", "0.1", ""), ("4", "cat", "dog", "0.2", "")], labels, 1)
    assert ("a weak model, not bad labels" in capsys.readouterr().out) == (labels == 2)
