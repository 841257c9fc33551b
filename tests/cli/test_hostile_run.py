"""A run folder that somebody else made must not run code, whatever the command."""

import shutil

import pytest

from reweigh.training import Run


@pytest.fixture
def hostile(own, tmp_path):
    """A finished run whose recipe names a command of the system as its model; returns it and what the command makes."""
    run, proof = tmp_path / "hostile", tmp_path / "pwned"
    shutil.copytree(own / "table-run", run)
    recipe = (run / "recipe.toml").read_text()
    before, model, after = recipe.partition("[model]")
    _, *others = after.split("\n\n", 1)
    text = f'name = "os:system"\ncommand = "touch {proof}"\n\n'
    (run / "recipe.toml").write_text(before + model + "\n" + text + "".join(others))
    Run(run).seal()  # whoever can write files can write their checksums
    return run, proof


COMMANDS = {
    "predict": lambda run, data, out: ["predict", run, data],
    "export": lambda run, data, out: ["export", run, "--to", "safetensors", "--out", out / "m.safetensors"],
    "resume": lambda run, data, out: ["train", "--resume", run],
    "train": lambda run, data, out: ["train", run, "--out", out / "again"],
    "train on data": lambda run, data, out: ["train", run, "--data", data, "--label", "kind", "--out", out / "again"],
    "compare": lambda run, data, out: ["compare", run, "--seeds", "1", "--out", out / "all"],
    "issues": lambda run, data, out: ["issues", run],
    "report": lambda run, data, out: ["report", run, "--out", out / "page.html"],
    "transfer": lambda run, data, out: ["transfer", run, run, "--out", out / "again"],
    "show": lambda run, data, out: ["show", run],
}


BUILDS_NO_MODEL = ("issues", "report", "show")


@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_runs_it(run, own, hostile, tmp_path, command):
    folder, proof = hostile
    result = run(*COMMANDS[command](folder, own / "table.csv", tmp_path))
    assert not proof.exists()
    if command not in BUILDS_NO_MODEL:
        assert result.exit_code == 2, result.output
        assert "--trust-code" in result.output


@pytest.mark.parametrize("command", [command for command in COMMANDS if command not in BUILDS_NO_MODEL])
def test_not_even_a_trusting_user_runs_the_standard_library(run, own, hostile, tmp_path, command):
    folder, proof = hostile
    result = run(*COMMANDS[command](folder, own / "table.csv", tmp_path), "--trust-code")
    assert not proof.exists()
    assert result.exit_code == 2, result.output
    assert "standard library" in result.output


LINKS = [".lock", "metrics.jsonl", "summary.json", "model.safetensors", "samples.csv", "SHA256SUMS", "checkpoint"]


@pytest.mark.parametrize("name", LINKS)
def test_nothing_is_written_where_a_link_points(run, own, tmp_path, name):
    folder, precious = tmp_path / "run", tmp_path / "precious"
    precious.mkdir()
    (precious / "last.safetensors").write_text("mine")
    target = precious if name == "checkpoint" else precious / "last.safetensors"
    left_out = shutil.ignore_patterns(name, "checkpoint", "SHA256SUMS", "summary.json", "metrics.jsonl")
    shutil.copytree(own / "table-run", folder, ignore=left_out)
    (folder / name).symlink_to(target)
    result = run("train", "--resume", folder)
    assert [(file.name, file.read_text()) for file in precious.iterdir()] == [("last.safetensors", "mine")]
    if name in (".lock", "metrics.jsonl", "checkpoint"):  # the others are replaced by files
        assert result.exit_code == 2
        assert "link to another place, where reweigh does not write" in result.output
