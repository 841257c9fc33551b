"""A row says what a run came to, from its folder alone."""

import json

import pytest
import torch

import reweigh
from reweigh.compare.carry_out import read_row, to_json
from reweigh.plan.edit import to_toml
from reweigh.recipes.read import check, read
from reweigh.training import Run

LINES = [
    {"epoch": 1, "test_accuracy": 0.9, "test_balanced_accuracy": 0.7, "seconds": 1.5},
    {"epoch": 2, "test_accuracy": 0.8, "test_balanced_accuracy": 0.75, "seconds": 2.0},
]


@pytest.fixture
def recipe():
    return check(read("demo", ["method.name=erm", "train.epochs=2", "train.seed=3"]))


@pytest.fixture
def run(tmp_path, recipe):
    """A finished run, written by hand."""
    run = Run.create(tmp_path / "erm-seed3", to_toml(recipe))
    run.write_metrics(LINES)
    run.write_summary({"status": "finished"})
    for file in (run.model, run.classes, run.inputs, run.samples):
        file.touch()
    return run


def test_a_finished_run(recipe, run):
    row = read_row(recipe, run.path)
    assert (row.bias, row.method, row.seed) == ("asymmetric-0.4", "erm", 3)
    assert (row.last, row.best) == (80.0, 90.0)
    assert (row.last_epoch, row.best_epoch) == (LINES[1], LINES[0])
    assert (row.seconds, row.status, row.error, row.run) == (3.5, "finished", None, str(run.path))
    assert read_row(recipe, run.path, "named so").bias == "named so"


def test_only_a_finished_run_has_numbers_to_compare(recipe, run):
    run.write_summary({"status": "diverged"})
    row = read_row(recipe, run.path, error="DivergedError: the loss is nan")
    assert (row.last, row.best, row.status) == (None, None, "diverged")
    assert (row.last_epoch, row.error) == (LINES[1], "DivergedError: the loss is nan")
    run.summary.unlink()
    run.metrics.unlink()
    row = read_row(recipe, run.path)
    assert (row.last, row.last_epoch, row.seconds, row.status) == (None, {}, 0, "interrupted")
    assert read_row(recipe, run.path, error="OSError: disk full").status == "failed"


def test_a_run_that_is_not_there(recipe, tmp_path):
    assert read_row(recipe, tmp_path / "nothing").status == "absent"
    assert read_row(recipe, tmp_path / "nothing", error="DataError: no data").status == "failed"
    assert not (tmp_path / "nothing").exists()


def test_a_failure_beside_an_older_run_is_a_failure(recipe, run):
    row = read_row(recipe, run.path, error="DataError: no data")
    assert (row.status, row.last) == ("failed", None)


def test_json_has_all_that_repeats_the_runs(recipe, run, tmp_path):
    found = json.loads(to_json([read_row(recipe, run.path)], command="reweigh compare demo"))
    assert (found["reweigh"], found["torch"]) == (reweigh.__version__, torch.__version__)
    assert found["command"] == "reweigh compare demo"
    (row,) = found["rows"]
    assert {key: row[key] for key in ("bias", "method", "seed", "last", "best")} == {
        "bias": "asymmetric-0.4", "method": "erm", "seed": 3, "last": 80.0, "best": 90.0,
    }  # fmt: skip
    assert (row["last_epoch"], row["best_epoch"], row["run"]) == (LINES[1], LINES[0], str(run.path))
    again = tmp_path / "again.toml"
    again.write_text(row["recipe"])
    assert check(read(again)) == recipe
