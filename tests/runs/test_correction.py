"""Corrections from Python: which labels change, a copy that has them, and what is refused."""

import shutil

import numpy as np
import pytest

import reweigh
from reweigh.errors import DataError
from reweigh.fit.decisions import Decision, Decisions


@pytest.fixture(scope="module")
def mine(tmp_path_factory):
    """A table with a wrong label in every tenth row, and a run on it."""
    from typer.testing import CliRunner

    from reweigh.cli.app import app

    folder, draw = tmp_path_factory.mktemp("mine"), np.random.default_rng(0)
    kinds = ["dog" if (row % 2) ^ (row % 10 == 0) else "cat" for row in range(120)]
    lines = [f"{draw.normal(4 * (row % 2), 0.5):.3f},{kind}" for row, kind in enumerate(kinds)]
    (folder / "table.csv").write_text("\n".join(["size,kind", *lines, ""]))
    words = ["train", "--data", folder / "table.csv", "--label", "kind", "method.name=erm", "train.epochs=12"]
    result = CliRunner().invoke(app, [str(word) for word in [*words, "--out", folder / "run"]])
    assert result.exit_code == 0, result.output
    return folder


def test_the_copy_has_the_labels_of_the_table_of_changes(mine, tmp_path):
    correction = reweigh.correct(mine / "run")
    changes = correction.table()
    assert {*changes["row"]} == {*range(0, 120, 10)}
    assert sum(count for *_, count in correction.pairs()) == len(changes)
    usage = correction.write(tmp_path / "clean.csv")
    assert usage == f"reweigh train --data {tmp_path / 'clean.csv'} --label kind"
    before, after = (path.read_text().splitlines()[1:] for path in (mine / "table.csv", tmp_path / "clean.csv"))
    differs = {row: new.split(",")[1] for row, (old, new) in enumerate(zip(before, after, strict=True)) if old != new}
    assert differs == dict(zip(changes["row"], changes["new_label"], strict=True))


def test_fewer_by_number_or_by_doubt_and_what_people_decided(mine, tmp_path):
    worst = reweigh.correct(mine / "run", top=3).table()
    assert worst["label_quality"].is_monotonic_increasing
    assert len(worst) == 3
    doubted = reweigh.correct(mine / "run", min_doubt=0.5).table()
    assert (doubted["label_quality"] <= 0.5).all()
    run = shutil.copytree(mine / "run", tmp_path / "run")
    Decisions(run / "decisions.jsonl").add(Decision(0, "dog", "cat", "ann"))
    Decisions(run / "decisions.jsonl").add(Decision(1, "dog", "dog", "ann"))
    assert reweigh.correct(run, decisions=run).pairs() == [("dog", "cat", 1)]


def test_what_is_refused_writes_nothing(mine, tmp_path):
    (mine / "all.csv").write_text("\n".join(["row,decision", *(f"{row},dog" for row in range(120)), ""]))
    correction = reweigh.correct(mine / "run", decisions=mine / "all.csv")
    with pytest.raises(DataError, match=r"no sample would be left of class 'cat'.*force=True"):
        correction.write(tmp_path / "clean.csv")
    with pytest.raises(DataError, match="would write into the data"):
        correction.write(mine / "table.csv", force=True, overwrite=True)
    (tmp_path / "taken.csv").write_text("mine")
    with pytest.raises(DataError, match="already exists"):
        correction.write(tmp_path / "taken.csv", force=True)
    with pytest.raises(DataError, match=r"ends in \.csv; got '\.txt'"):
        correction.write(tmp_path / "clean.txt", force=True)
    with pytest.raises(DataError, match="leave out min_doubt and top"):
        reweigh.correct(mine / "run", top=1, decisions=mine / "run")
    with pytest.raises(DataError, match="min_doubt: got 2"):
        reweigh.correct(mine / "run", min_doubt=2)
    assert [path.name for path in tmp_path.iterdir()] == ["taken.csv"]


def test_a_named_dataset_has_no_file_to_correct(trained):
    with pytest.raises(DataError, match="digits is a named dataset"):
        reweigh.correct(trained["erm"])
