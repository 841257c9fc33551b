"""A run folder that somebody else made must not run code, whatever the command."""

import inspect
import re
import shutil
from typing import Any, get_type_hints

import pytest

from reweigh.cli.app import app
from reweigh.files import ledger
from reweigh.review.server import Review
from reweigh.training import Run

SECTIONS = ("model", "features")  # that can name code


@pytest.fixture
def hostile(own, tmp_path):
    """Makes a finished run whose recipe names a command of the system; gives it, and what the command would make."""

    def made(*sections):
        run, proof = tmp_path / "hostile", tmp_path / "pwned"
        shutil.copytree(own / "table-run", run)
        recipe = (run / "recipe.toml").read_text()
        for name in sections:
            recipe = re.sub(rf"\n\[{name}\]\n.*?(?=\n\n|\Z)", "", recipe, flags=re.DOTALL)
            recipe += f'\n[{name}]\nname = "os:system"\n' + f'command = "touch {proof}"\n' * (name == "model")
        (run / "recipe.toml").write_text(recipe)
        for line in (run / "samples.csv").read_text().splitlines()[1:9]:
            row, given, *_ = line.split(",")
            ledger.append(run / "decisions.jsonl", {"row": int(row), "given": given, "label": given, "by": "ann"})
        Run(run).seal()  # whoever can write files can write their checksums
        return run, proof

    return made


# By command and parameter: the words that give the hostile folder there
COMMANDS = {
    ("fix", "data"): lambda run, data, out: ["fix", run, "--accept-all", "--run", out / "again"],
    ("fix", "labels"): lambda run, data, out: ["fix", data, "--labels", run, "--accept-all", "--run", out / "again"],
    ("fix", "run"): lambda run, data, out: [
        "fix", data, "--label", "kind", "--accept-all", "--run", run, "--out", out / "new.csv"
    ],
    ("train", "recipe"): lambda run, data, out: ["train", run, "--out", out / "again"],
    ("train", "data"): lambda run, data, out: ["train", "--data", run, "--out", out / "again"],
    ("train", "labels"): lambda run, data, out: ["train", "--data", data, "--labels", run, "--out", out / "again"],
    ("train", "votes"): lambda run, data, out: ["train", "--data", data, "--votes", run, "--out", out / "again"],
    ("train", "reviewed"): lambda run, data, out: ["train", "--reviewed", run, "--out", out / "again"],
    ("train", "resume"): lambda run, data, out: ["train", "--resume", run],
    ("train", "recipe on other data"): lambda run, data, out: [
        "train", run, "--data", data, "--label", "kind", "--out", out / "again"
    ],
    ("compare", "recipe"): lambda run, data, out: ["compare", run, "--seeds", "1", "--out", out / "all"],
    ("compare", "data"): lambda run, data, out: ["compare", "--data", run, "--out", out / "all"],
    ("compare", "labels"): lambda run, data, out: ["compare", "--data", data, "--labels", run, "--out", out / "all"],
    ("report", "runs"): lambda run, data, out: ["report", run, "--out", out / "page.html"],
    ("issues", "run"): lambda run, data, out: ["issues", run],
    ("issues", "apply_from"): lambda run, data, out: ["issues", run, "--apply", out / "new.csv", "--apply-from", run],
    ("review", "run"): lambda run, data, out: ["review", run],
    ("audit", "run"): lambda run, data, out: ["audit", run, "--n", "0"],
    ("predict", "run"): lambda run, data, out: ["predict", run, data],
    ("predict", "data"): lambda run, data, out: ["predict", data.with_name("table-run"), run],
    ("export", "run"): lambda run, data, out: ["export", run, "--to", "safetensors", "--out", out / "m.safetensors"],
    ("train", "branch"): lambda run, data, out: ["train", "--branch", run, "--out", out / "again"],
    ("train", "weighting"): lambda run, data, out: ["train", "--weighting", run, "--out", out / "again"],
    ("inspect", "data"): lambda run, data, out: ["inspect", run],
    ("inspect", "labels"): lambda run, data, out: ["inspect", data, "--labels", run],
    ("inspect", "root"): lambda run, data, out: ["inspect", "mnist", "--root", run],
    ("corrupt", "data"): lambda run, data, out: ["corrupt", run, "symmetric", "rate=0.1", "--out", out / "n.csv"],
    ("corrupt", "labels"): lambda run, data, out: [
        "corrupt", data, "symmetric", "rate=0.1", "--labels", run, "--out", out / "n.csv"
    ],
    ("corrupt", "posteriors"): lambda run, data, out: [
        "corrupt", data, "feature-dependent", "rate=0.1", "--posteriors", run, "--out", out / "n.csv"
    ],
    ("corrupt", "root"): lambda run, data, out: [
        "corrupt", "mnist", "symmetric", "rate=0.1", "--root", run, "--out", out / "n.csv"
    ],
    ("tables", "runs"): lambda run, data, out: ["tables", "1", "--runs", run],
    ("list", "name"): lambda run, data, out: ["list", "runs", run],
    ("list", "recipe"): lambda run, data, out: ["list", "recipes", run],
    ("data get", "root"): lambda run, data, out: ["data", "get", "mnist", "--root", run, "--mirror", "http://[::1]:9"],
}  # fmt: skip
# Those that would build the network of the recipe
BUILD = [("train", "recipe"), ("train", "recipe on other data"), ("train", "reviewed"), ("train", "resume"),
         ("compare", "recipe"), ("predict", "run"), ("export", "run")]  # fmt: skip
TAKE_A_PATH = ("RECIPE", "DATA", "RUN|FILE", "NAME|PATH")  # and everything that is a Path
WRITTEN = ("out", "apply", "json")


def parameters(verbs: Any, before: str = "") -> set[tuple[str, str]]:
    """Every command with each of its parameters that can name a folder to read."""
    found = set()
    for each in verbs.registered_commands:
        named = before + (each.name or each.callback.__name__)
        kinds = get_type_hints(each.callback)
        for name, parameter in inspect.signature(each.callback).parameters.items():
            (about, *_) = getattr(parameter.annotation, "__metadata__", [None])
            a_path = "Path" in str(kinds[name]) or getattr(about, "metavar", None) in TAKE_A_PATH
            found |= {(named, name)} if a_path and name not in WRITTEN else set()
    for group in verbs.registered_groups:
        found |= parameters(group.typer_instance, f"{group.name} ")
    return found


def test_the_table_lists_every_command_that_can_read_a_folder():
    assert parameters(app) <= COMMANDS.keys()
    assert ("train", "resume") in parameters(app)
    assert ("data get", "root") in parameters(app)


@pytest.fixture
def run(run, monkeypatch):
    monkeypatch.setattr(Review, "run", lambda self: self.stop())  # which would wait for a reviewer
    return run


@pytest.mark.parametrize("case", COMMANDS, ids=" ".join)
def test_no_command_runs_it(run, own, hostile, tmp_path, case):
    folder, proof = hostile(*SECTIONS)
    result = run(*COMMANDS[case](folder, own / "table.csv", tmp_path))
    assert not proof.exists()
    assert result.exit_code in (0, 2), result.output  # and not 1, for errors that nobody expected


@pytest.mark.parametrize("section", SECTIONS)
@pytest.mark.parametrize("case", BUILD, ids=" ".join)
def test_a_trusting_user_is_asked_and_the_standard_library_never_runs(run, own, hostile, tmp_path, case, section):
    folder, proof = hostile(section)
    words = COMMANDS[case](folder, own / "table.csv", tmp_path)
    for more, reason in ([], "--trust-code"), (["--trust-code"], "standard library"):
        result = run(*words, *more)
        assert not proof.exists()
        assert result.exit_code == 2, result.output
        assert reason in result.output or (more and section == "features" and "needs images" in result.output)


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
    if name in (".lock", "checkpoint"):  # the others are replaced by files
        assert result.exit_code == 2
        assert "link to another place, where reweigh does not write" in result.output
