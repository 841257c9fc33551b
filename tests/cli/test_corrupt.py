"""Every bias can be written as a label file that is read again; the data and what is there stay as they are."""

import csv
import json
import shlex

import numpy as np
import pytest
import torch

from reweigh.bias import BIASES
from reweigh.data import read
from reweigh.fit.source import read_training_set
from reweigh.recipes.read import check
from reweigh.recipes.read import read as read_recipe

OPTIONS = {"long-tail": "imbalance_factor=5", "feature-dependent": "rate=0.2 kind=I"}
OPTIONS["feature-dependent-rival"] = OPTIONS["feature-dependent"]


@pytest.mark.parametrize("name", BIASES)
def test_every_bias(run, name, tmp_path):
    out = tmp_path / "labels.csv"
    result = run("corrupt", "digits", "--bias", f"{name} {OPTIONS.get(name, 'rate=0.2')}", "--out", out)
    if name == "open-set":
        assert result.exit_code == 2
        assert "a label file can only hold labels" in result.stderr
        assert not list(tmp_path.iterdir())
        return
    assert result.exit_code == 0, result.stderr
    summary = json.loads(out.with_suffix(".json").read_text())
    with open(out) as file:
        rows = list(csv.DictReader(file))
    wrong = sum(row["label"] != row["before"] for row in rows)
    assert (summary["samples"], summary["wrong"]) == (len(rows), wrong)
    assert summary["rate"] == pytest.approx(wrong / len(rows))
    assert sum(summary["class_sizes_before"].values()) == summary["samples_before"] == 1257
    assert summary["biases"][0]["name"] == name
    assert f"{len(rows)} of 1257 samples are left, {wrong} of them" in result.stdout
    changes = [word for word in shlex.split(result.stdout.splitlines()[-1])[3:] if "=" in word]
    recipe = check(read_recipe("demo", changes))  # the command that it prints makes the same labels
    train = read_training_set(recipe.source, recipe.train["seed"])[0]
    assert [train.class_names[label] for label in train.labels.tolist()] == [row["label"] for row in rows]


def test_biases_follow_one_another_and_the_seed_decides(run, tmp_path):
    words = ["--bias", "symmetric-others rate=0.4", "--bias", '{name="long-tail", imbalance_factor=4}']
    for name, seed in {"one": 1, "again": 1, "other": 2}.items():
        assert run("corrupt", "digits", *words, "--seed", seed, "--out", tmp_path / f"{name}.csv").exit_code == 0
    assert (tmp_path / "one.csv").read_text() == (tmp_path / "again.csv").read_text()
    assert (tmp_path / "one.csv").read_text() != (tmp_path / "other.csv").read_text()
    summary = json.loads((tmp_path / "one.json").read_text())
    assert summary["samples"] < summary["samples_before"]
    assert [bias["name"] for bias in summary["biases"]] == ["symmetric-others", "long-tail"]


@pytest.mark.parametrize("suffix", [".csv", ".npy"])
def test_a_table_is_read_again_with_the_new_labels(run, table, tmp_path, suffix):
    before = table.read_bytes()
    out = tmp_path / f"worse{suffix}"
    bias = '{name="asymmetric", rate=0.5, map={cat="ankle boot"}}'
    assert run("corrupt", table, "--label", "kind", "--bias", bias, "--out", out).exit_code == 0
    old, new = read(table, label="kind"), read(table, label="kind", labels=out)
    assert new.class_names == old.class_names
    wrong = json.loads(out.with_suffix(".json").read_text())["wrong"]
    assert int((old.labels != new.labels).sum()) == wrong > 15
    assert set(new.labels[old.labels != new.labels].tolist()) == {old.class_names.index("ankle boot")}
    assert table.read_bytes() == before


def test_images_keep_their_names(run, images, tmp_path):
    out = tmp_path / "labels.csv"
    assert run("corrupt", images, "--bias", "symmetric rate=0.3", "--out", out).exit_code == 0
    with open(out) as file:
        rows = list(csv.DictReader(file))
    assert all(row["name"].startswith(row["before"] + "/") for row in rows)
    new = read(images, labels=out)
    assert [new.class_names[label] for label in new.labels.tolist()] == [row["label"] for row in rows]


def test_arrays_with_labels_of_their_own(run, tmp_path):
    np.save(tmp_path / "x.npy", np.random.default_rng(0).normal(size=(40, 3)))
    np.save(tmp_path / "y.npy", np.arange(40) % 2)
    words = ["--labels", tmp_path / "y.npy", "--bias", "symmetric-others rate=0.25"]
    assert run("corrupt", tmp_path / "x.npy", *words, "--out", tmp_path / "z.npy").exit_code == 0
    new = read(tmp_path / "x.npy", labels=tmp_path / "z.npy")
    assert int((new.labels != torch.arange(40) % 2).sum()) == 10
    refused = run("corrupt", tmp_path / "x.npy", *words, "--out", tmp_path / "y.npy", "--overwrite")
    assert refused.exit_code == 2
    assert "would write into the data" in refused.stderr


def test_class_names_that_are_numbers_of_other_classes(run, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,label\n" + "".join(f"{n * n}.5,{n % 3 + 1}\n" for n in range(30)))
    all_but_first = '{name="asymmetric", rate=1.0, map={1=2}}'  # numbers 1 and 2 are left, and are names too
    refused = run("corrupt", path, "--bias", all_but_first, "--out", tmp_path / "x.npy")
    assert refused.exit_code == 2
    assert "write a .csv, which holds names" in refused.stderr
    done = run("corrupt", path, "--bias", all_but_first, "--out", tmp_path / "x.csv")
    assert "No label of 1 is left" in done.stdout


def test_nothing_is_overwritten_unless_asked(run, tmp_path):
    words = ["corrupt", "digits", "--bias", "symmetric rate=0.4", "--out", tmp_path / "labels.npy"]
    (tmp_path / "labels.json").write_text("mine")
    refused = run(*words)
    assert refused.exit_code == 2
    assert "labels.json: already exists; replace it with --overwrite" in refused.stderr
    assert (tmp_path / "labels.json").read_text() == "mine"
    assert run(*words, "--overwrite").exit_code == 0
    assert len(np.load(tmp_path / "labels.npy")) == 1257


def test_all_mistakes_at_once(run, tmp_path):
    result = run(
        "corrupt", "digits", "--label", "x", "--out", tmp_path / "labels.csv",
        *("--bias", "symmetric"), *("--bias", "symetric rate=1"), *("--bias", "symmetric 0.4"), *("--bias", "{name=3"),
        *("--bias", "asymmetric rate=4 sed=3"),
    )  # fmt: skip
    assert result.exit_code == 2
    first, *mistakes = result.stderr.splitlines()
    assert first == "RecipeError: reweigh corrupt: 7 mistakes"
    assert [line.split(":")[0].strip() for line in mistakes] == [
        "--label", "--bias.0.rate", "--bias.1.name", "--bias.2", "--bias.3", "--bias.4.rate", "--bias.4.sed",
    ]  # fmt: skip
    assert "Did you mean 'symmetric'?" in result.stderr
    assert "'symmetric rate=0.4'" in mistakes[3]
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("bias", "out", "message"),
    [
        ("symmetric rate=0.3", "labels.txt", "ends in .csv or .npy"),
        ("symmetric rate=0.3", "nowhere/labels.csv", "there is no folder"),
        ("symmetric rate=0.3", "images/labels.csv", "would write into the data"),
        ("symmetric rate=0.3", "images/cat/labels.csv", "would write into the data"),
        ("long-tail imbalance_factor=3", "labels.npy", "a .npy cannot say which; write a .csv"),
        ('{name="asymmetric", rate=0.3, map={cat="dgo"}}', "labels.csv", "Did you mean 'dog'?"),
    ],
)
def test_what_cannot_be_written(run, images, tmp_path, bias, out, message):
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    result = run("corrupt", images, "--bias", bias, "--out", tmp_path / out, "--overwrite")
    assert result.exit_code == 2
    assert message in result.stderr
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_posteriors_of_a_file(run, tmp_path):
    rows = np.random.default_rng(0).dirichlet(np.ones(10), 1257)  # the training part of the digits
    np.save(tmp_path / "rows.npy", rows)
    out = tmp_path / "labels.npy"
    bias = ("--bias", "feature-dependent rate=0.905")
    result = run("corrupt", "digits", *bias, "--posteriors", tmp_path / "rows.npy", "--out", out)
    assert result.exit_code == 0, result.output
    assert (np.argsort(rows, axis=1)[:, -2:] == np.load(out)[:, None]).any(1).all()  # one of the two likeliest
    np.save(tmp_path / "rows.npy", 2 * rows)
    result = run("corrupt", "digits", *bias, "--posteriors", tmp_path / "rows.npy", "--out", out, "--overwrite")
    assert result.exit_code == 2
    assert "(wrong rows: 1,257 of 1,257)" in " ".join(result.output.split())
