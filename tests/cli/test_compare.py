"""``reweigh compare``: tables, JSON, resuming, and what goes wrong."""

import json
import re
from pathlib import Path

import pytest

from reweigh.cli.compare import default_folder

SHORT = ["train.epochs=1", "train.warmup_epochs=0", "train.batch_size=256", "model.hidden=[8]"]


@pytest.fixture
def compare(run, tmp_path, monkeypatch):
    """Runs the verb with few and short epochs."""
    monkeypatch.chdir(tmp_path)
    return lambda *words: run("compare", "demo", *SHORT, *words)


def test_a_table_for_each_bias_and_json_with_everything(compare, tmp_path):
    words = ["--methods", "erm,cmw-net", "--biases", "clean,long-tail-5", "--seeds", 1, "--json", "results.json"]
    result = compare(*words)
    assert result.exit_code == 0, result.output
    output = result.stdout
    assert "labels as given: test accuracy in percent, one seed" in output
    assert "Spread" not in output
    assert "long-tail-5: test accuracy in percent, one seed" in output
    assert output.count("last epoch") == 2
    assert len(re.findall("head +middle +tail +many shot +medium shot +cost", output)) == 1
    assert "What cmw-net learned (labels as given, seed 0):" in output
    assert "Runs: runs/demo (4 folders" in output
    assert "1/4 runs  clean, erm, seed 0: test " in result.stderr
    found = json.loads((tmp_path / "results.json").read_text())
    command = f"reweigh compare demo {' '.join(SHORT)} --methods erm,cmw-net --biases clean,long-tail-5 --seeds 1"
    assert found["command"].replace("'", "") == f"{command} --json results.json"
    rows = found["rows"]
    assert [(row["bias"], row["method"], row["seed"]) for row in rows] == [
        ("clean", "erm", 0), ("clean", "cmw-net", 0), ("long-tail-5", "erm", 0), ("long-tail-5", "cmw-net", 0),
    ]  # fmt: skip
    assert rows[0]["last"] == 100 * rows[0]["last_epoch"]["test_accuracy"]
    assert f"{rows[0]['last']:.2f}" in output
    assert "test_tail_accuracy" in rows[2]["last_epoch"]
    assert (tmp_path / rows[2]["run"] / "recipe.toml").read_text() == rows[2]["recipe"]

    again = compare(*words, "--resume")  # nothing to do
    assert again.stdout == output
    assert again.stderr == "4 of 4 runs are done already\n"
    assert json.loads((tmp_path / "results.json").read_text())["rows"] == rows
    refused = compare(*words)
    assert refused.exit_code == 2
    assert "runs/demo/clean/erm-seed0, " in refused.stderr
    assert " and 1 more: exists already; continue with --resume" in refused.stderr
    other = compare(*words, "--resume", "train.seed=0", "optimizer.lr=0.3")
    assert other.exit_code == 2
    assert "started with another recipe" in other.stderr


def test_without_biases_the_runs_are_named_as_ever(compare, tmp_path):
    result = compare("--seeds", 2, "--out", "here", "--methods", "erm")
    assert result.exit_code == 0, result.output
    assert {path.name for path in (tmp_path / "here").iterdir()} == {"erm-seed0", "erm-seed1"}
    assert "asymmetric-0.4: test accuracy in percent, mean ± spread over 2 seeds" in result.stdout


def test_a_failure_comes_after_the_table(compare, tmp_path):
    result = compare("compare.erm.optimizer.lr=1e30", "--methods", "erm,mw-net", "--seeds", 1, "--json", "results.json")
    assert result.exit_code == 2
    assert "erm (0 of 1)" in result.stdout
    assert "1/2 runs  erm, seed 0: failed" in result.stderr
    told = result.stderr.partition("ReweighError: ")[2].splitlines()
    assert told[:2] == ["1 of 2 runs failed", "  runs/demo/erm-seed0"]
    assert told[2].startswith("    DivergedError: the ")
    assert told[3] == "try them again with:"
    assert told[4].endswith("--json results.json --resume")
    rows = json.loads((tmp_path / "results.json").read_text())["rows"]
    assert [(row["status"], row["last"] is None) for row in rows] == [("diverged", True), ("finished", False)]


def test_an_interrupt_says_how_to_continue(compare, monkeypatch):
    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("reweigh.compare.carry_out.begin", interrupted)
    result = compare("--biases", "clean", "--seeds", 2, "--workers", 1)
    assert result.exit_code == 130
    assert result.stderr.splitlines()[-2] == "interrupted; 0 of 2 runs are done; continue with:"
    assert result.stderr.splitlines()[-1].endswith(" --biases clean --seeds 2 --resume")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--biases", "symetric-0.4"], "Did you mean 'symmetric'?"),
        (["--biases", "symmetric-1.4"], "symmetric-1.4: data.bias.0.rate: got 1.4; should be less than or equal to 1"),
        (["--methods", "erm,erm"], "erm: named twice"),
        (["--methods", ","], "--methods: got ','; give names separated by commas"),
        (["--workers", "0"], "'--workers'"),
        (["--seeds", "0"], "'--seeds'"),
        (["--resume", "--overwrite"], "give only one of the two"),
        (["--json", "nowhere/results.json"], "there is no folder nowhere"),
    ],
)
def test_bad_input(compare, tmp_path, words, message):
    result = compare(*words)
    assert result.exit_code == 2
    assert message in result.stderr
    assert not (tmp_path / "runs").exists()


def test_a_comparison_does_not_collide_with_a_run_of_the_same_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert default_folder("cars") == Path("runs/cars")
    Path("runs/cars").mkdir(parents=True)
    assert default_folder("cars") == Path("runs/cars")  # an earlier comparison, which --resume continues
    Path("runs/cars/recipe.toml").touch()  # train --data cars.csv --out runs/cars
    assert default_folder("cars") == Path("runs/cars-compared")
