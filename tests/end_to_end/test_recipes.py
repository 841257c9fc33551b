"""Recipes from the command line: five mistakes are told at once, and a stored recipe repeats its run."""

from pathlib import Path

import pytest
from safetensors.numpy import load_file
from typer.testing import CliRunner

from reweigh.cli.app import app
from reweigh.recipes.read import check, read, shipped

SHORT = ["train.epochs=3", "train.warmup_epochs=1"]


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def same_weights(one: Path, other: Path) -> bool:
    first, second = (load_file(folder / "model.safetensors") for folder in (one, other))
    return first.keys() == second.keys() and all((first[name] == second[name]).all() for name in first)


def test_five_different_mistakes_are_told_at_once(tmp_path, monkeypatch):
    path = tmp_path / "wrong.toml"
    path.write_text("""
[data]
name = "digit"
[model]
name = "mlp"
hiden = [256]
[method]
name = "cmw-net"
engine = "unroled"
[train]
epochs = "sixty"
batch_size = 0
[optimizer]
name = "sgd"
""")
    monkeypatch.chdir(tmp_path)
    done = run("train", path)
    assert done.exit_code == 2
    first, *mistakes = done.stderr.splitlines()
    assert first == f"RecipeError: recipe {path}: 5 mistakes"
    assert [line.split(":")[0].strip() for line in mistakes] == [
        "data.name", "model.hiden", "method.engine", "train.epochs", "train.batch_size",
    ]  # fmt: skip
    for line, words in zip(mistakes, ["'digits'?", "'hidden'?", "'unrolled'?", "'sixty'", "got 0"], strict=True):
        assert words in line
    assert list(tmp_path.iterdir()) == [path]


def test_an_unknown_method_is_one_mistake():
    """And none of the methods that the recipe has settings for is blamed for its options."""
    done = run("train", "demo", "method.name=cmw")
    first, mistake = done.stderr.splitlines()
    assert first == "RecipeError: recipe demo: 1 mistake"
    assert "no method named 'cmw'. Did you mean 'cmw-net', 'cmw-net-sl' or 'cmw-net-sl+'? To see all" in mistake


def test_the_stored_recipe_repeats_the_run(tmp_path):
    assert run("train", "demo", *SHORT, "--out", tmp_path / "one").exit_code == 0
    assert run("train", tmp_path / "one", "--out", tmp_path / "two").exit_code == 0
    assert (tmp_path / "one" / "recipe.toml").read_bytes() == (tmp_path / "two" / "recipe.toml").read_bytes()
    assert same_weights(tmp_path / "one", tmp_path / "two")


def test_a_run_is_not_overwritten_unless_asked(tmp_path):
    assert run("train", "demo", *SHORT, "--out", tmp_path / "one").exit_code == 0
    before = (tmp_path / "one" / "model.safetensors").read_bytes()
    refused = run("train", "demo", *SHORT, "train.seed=1", "--out", tmp_path / "one")
    assert refused.exit_code == 2
    assert "--resume" in refused.stderr
    assert "--overwrite" in refused.stderr
    assert (tmp_path / "one" / "model.safetensors").read_bytes() == before
    assert run("train", "demo", *SHORT, "train.seed=1", "--out", tmp_path / "one", "--overwrite").exit_code == 0
    assert (tmp_path / "one" / "model.safetensors").read_bytes() != before


def test_compare_refuses_or_continues_what_is_there(tmp_path):
    words = ["compare", "demo", *SHORT, "--methods", "erm", "--out", tmp_path]
    assert run(*words, "--seeds", 1).exit_code == 0
    assert run(*words, "--seeds", 2).exit_code == 2
    continued = run(*words, "--seeds", 2, "--resume", "--json", tmp_path / "numbers.json")
    assert continued.exit_code == 0
    assert "±" in continued.stdout
    other = run(
        "compare",
        "demo",
        *SHORT,
        "train.batch_size=32",
        "--methods",
        "erm",
        "--seeds",
        1,
        "--out",
        tmp_path,
        "--resume",
    )
    assert other.exit_code == 2
    assert "another recipe" in other.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["train", "--resume", "nowhere"], "no run here"),
        (["train", "demo", "--resume", "nowhere"], "leave out everything else"),
        (["compare", "demo", "--methods", "erm,cwm-net"], "Did you mean 'cmw-net', "),
        (["compare", "demo", "--resume", "--overwrite"], "give only one of the two"),
        (["compare", "demo", "--json", "nowhere/x.json"], "there is no folder nowhere"),
        (["train", "demo", "train.device=cuda:99"], "device: 'cuda:99' is not available here; allowed: auto, cpu"),
        (["list", "engine"], "Did you mean 'engines'?"),
    ],
)
def test_wrong_words_exit_2_with_a_remedy(words, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run(*words)
    assert result.exit_code == 2
    assert message in result.stderr


@pytest.mark.parametrize("name", shipped())
def test_every_shipped_recipe_is_right(name):
    check(read(name))


def test_a_shown_recipe_says_where_it_comes_from_and_is_the_same_recipe(tmp_path):
    result = run("list", "recipes", "demo")
    assert result.stdout.startswith("# reweigh compare demo ")
    (tmp_path / "shown.toml").write_text(result.stdout)
    assert check(read(tmp_path / "shown.toml")) == check(read("demo"))
