"""``train --weighting``: the weighting function of another run is used as it is, and said where it comes from."""

import shutil
import tomllib

import pytest
from safetensors.numpy import load_file

from reweigh.weighting import load_weighting

UNSEALED = shutil.ignore_patterns("SHA256SUMS")  # the files are changed on purpose


def test_the_function_of_a_run_weighs_other_data(own, run, tmp_path, monkeypatch):
    monkeypatch.chdir(own)
    words = ["--data", "photos", "train.epochs=2", "--out", tmp_path / "run"]
    result = run("train", "--weighting", "table-run", *words)
    assert result.exit_code == 0, result.output
    assert "Weighting function: learned on table.csv, in table-run; it is kept fixed." in result.stdout
    recipe = tomllib.loads((tmp_path / "run" / "recipe.toml").read_text())
    assert recipe["method"]["weighting"] == str(own / "table-run" / "weighting.safetensors")
    assert recipe["data"]["path"] == str(own / "photos")
    before, after = (load_file(folder / "weighting.safetensors") for folder in (own / "table-run", tmp_path / "run"))
    assert all((before[name] == after[name]).all() for name in before)
    assert load_weighting(tmp_path / "run" / "weighting.safetensors")[1].learned_on == "table.csv"
    assert "meta_loss" not in (tmp_path / "run" / "metrics.jsonl").read_text()


def test_a_recipe_and_a_name_for_the_run(own, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run("train", "demo", "--weighting", own / "table-run", "train.epochs=2", "train.warmup_epochs=1")
    assert result.exit_code == 0, result.output
    assert (tmp_path / "runs" / "demo-from-table-run-cmw-net-seed0" / "model.safetensors").is_file()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["{own}/table-run", "demo", "method.name=erm"], "method.weighting: erm has no option 'weighting'"),
        (["{own}", "demo"], "there is no run here"),
        (["plain", "demo"], "its method, erm, does not learn one"),
        (["unended", "demo"], "the run has not ended"),
    ],
)
def test_bad_input(own, run, tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    for name in ("plain", "unended"):
        shutil.copytree(own / "table-run", name, ignore=UNSEALED)
        (tmp_path / name / "weighting.safetensors").unlink()
    (tmp_path / "unended" / "model.safetensors").unlink()
    recipe = tmp_path / "plain" / "recipe.toml"
    values = recipe.read_text().split("[method]")
    recipe.write_text(values[0] + '[method]\nname = "erm"\n\n[' + values[1].partition("\n[")[2])
    result = run("train", "--weighting", *[word.format(own=own) for word in words])
    assert result.exit_code == 2
    assert message in result.stderr
    assert not (tmp_path / "runs").exists()
