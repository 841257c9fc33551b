"""``reweigh train --data``: the recipe fits the data, is printed, can be changed, and reproduces the run."""

import json
import tomllib

import numpy as np
import pandas as pd
import pytest

from reweigh.data.named.own_files import files
from reweigh.plan.choose import OF_TABLES, USUAL, Facts, choose, default_batch_size, default_epochs
from reweigh.plan.edit import put
from reweigh.recipes.own_data import look
from reweigh.recipes.read import Contents, check


def recipe_of(folder):
    return tomllib.loads((folder / "recipe.toml").read_text())


def test_a_table_gets_a_perceptron_and_the_method_what_it_needs(own):
    recipe = recipe_of(own / "table-run")
    assert recipe["data"]["name"] == "files"
    assert recipe["data"]["path"] == str(own / "table.csv")
    assert recipe["data"]["label"] == "kind"
    assert (recipe["model"]["name"], recipe["method"]["name"]) == ("mlp", "cmw-net")
    assert recipe["train"]["batch_size"] == default_batch_size(96)
    assert recipe["train"]["warmup_epochs"] == 1  # of the 12 that the user wanted
    told = json.loads((own / "told.json").read_text())["table.csv"]
    assert "to train on, 2 classes" in told
    assert "24 more are held out for testing" in told
    assert "model.name=mlp " in told
    assert "meta_set.name=lowest-loss " in told
    assert "train.epochs" not in told  # the user's own choice is no news


def test_images_get_a_convolutional_net(own):
    recipe = recipe_of(own / "photos-run")
    assert (recipe["model"]["name"], recipe["method"]["name"]) == ("cnn", "cmw-net-sl")
    assert recipe["augment"] == []  # a mirrored digit is none
    assert "size" not in recipe["data"]


def test_the_outcome_names_the_data(own):
    told = json.loads((own / "told.json").read_text())
    assert "cmw-net on table.csv\n" in told["table.csv"]
    assert "cmw-net-sl on photos\n" in told["photos"]


def test_the_stored_recipe_reproduces_the_run(own, run, tmp_path):
    result = run("train", own / "table-run", "--out", tmp_path / "again")
    assert result.exit_code == 0, result.output
    for name in ("recipe.toml", "samples.csv", "test.csv", "inputs.json"):
        assert (tmp_path / "again" / name).read_text() == (own / "table-run" / name).read_text()


def test_a_run_is_not_written_into_the_data(own, run):
    result = run("train", "--data", own / "photos", "train.epochs=1", "--out", own / "photos" / "runs")
    assert result.exit_code == 2
    assert "would write into the data" in result.output
    assert not (own / "photos" / "runs").exists()


def test_data_that_were_moved_away_after_training(run, table, tmp_path):
    folder = tmp_path / "run"
    done = run("train", "--data", table, "--label", "kind", "--out", folder, "method.name=erm", "train.epochs=1")
    assert done.exit_code == 0, done.output
    table.rename(tmp_path / "moved.csv")
    for words in (["train", "--resume", folder], ["issues", folder, "--apply", tmp_path / "copy.csv"]):
        result = run(*words)
        assert result.exit_code == 2
        assert f"{table}: the data of the run are no longer there; move them back, or put a link there" in result.output
    assert run("issues", folder).exit_code == 0


def test_data_that_are_changed_to_no_section(own, run):
    result = run("train", "--data", own / "table.csv", "--label", "kind", "data=other.csv")
    assert result.exit_code == 2
    assert isinstance(result.exception, SystemExit)
    assert "data" in result.output


def test_other_paths_start_at_the_current_folder_too(own, run, monkeypatch, tmp_path):
    monkeypatch.chdir(own)
    others = ("data.test=table.csv", "meta_set.name=clean", "meta_set.path=table.csv", "meta_set.label=kind")
    result = run(
        "train", "--data", "table.csv", "--label", "kind", *others, "train.epochs=1", "--out", tmp_path / "run"
    )
    assert result.exit_code == 0, result.output
    assert "held out" not in result.output


def test_a_recipe_gives_everything_but_the_data(own, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run("train", "demo", "--data", own / "arrays.npz", "train.epochs=2", "method.name=erm")
    assert result.exit_code == 0, result.output
    assert "Everything except the data comes from demo." in result.output
    recipe = recipe_of(tmp_path / "runs" / "arrays-erm-seed0")
    assert recipe["data"]["path"] == str(own / "arrays.npz")
    assert recipe["data"]["bias"] == []
    assert recipe["model"]["hidden"] == [256, 256]
    assert recipe["optimizer"]["name"] == "sgd"


def test_a_named_dataset_will_do(run, tmp_path):
    result = run("train", "--data", "digits", "train.epochs=1", "method.name=erm", "model.name=mlp", "--out", tmp_path)
    assert result.exit_code == 0, result.output
    assert recipe_of(tmp_path)["data"]["name"] == "digits"


def test_large_images_of_many_sizes_are_resized_and_photos_augmented(tmp_path):
    from PIL import Image

    for kind in "ab":
        (tmp_path / kind).mkdir()
        for number in range(5):
            pixels = np.random.default_rng(number).integers(0, 256, (100, 90 + number, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(tmp_path / kind / f"{number}.png")
    found = look({"data": {"name": "files", "path": str(tmp_path)}, "features": {"name": "none"}})
    assert found is not None
    assert (found.held_out, found.sizes, found.size) == (2, 5, 64)
    assert found.facts == Facts(8, (3, 64, 64), (4, 4), images=True, photos=True, pixels=True)
    small = look({"data": {"name": "files", "path": str(tmp_path), "size": 16}, "features": {"name": "none"}})
    assert small is not None
    assert (small.facts.shape, small.size) == ((3, 16, 16), None)


def test_as_many_images_as_are_really_held_out(tmp_path):
    from PIL import Image

    for kind in ("cat", "dog", "owl"):
        (tmp_path / kind).mkdir()
        for number in range(8):
            Image.new("RGB", (8, 8), (number, 0, 0)).save(tmp_path / kind / f"{number}.png")
    given = {"data": {"name": "files", "path": str(tmp_path)}, "features": {"name": "none"}}
    found, (train, test) = look(given), files(tmp_path, path=str(tmp_path))
    assert found is not None
    assert (found.facts.class_sizes, found.held_out) == (tuple(train.class_sizes.tolist()), len(test))


@pytest.mark.parametrize("samples", [2, 30, 5_000, 200_000])
@pytest.mark.parametrize(
    ("shape", "photos"), [((3, 32, 32), True), ((1, 8, 8), False), ((7,), False), ((3, 2, 2), True)]
)
def test_whatever_is_chosen_is_a_recipe(samples, shape, photos):
    sizes = (samples // 2, samples - samples // 2)
    values = {"data": {"name": "files", "path": "x"}}
    for choice in choose(Facts(samples, shape, sizes, images=len(shape) == 3, photos=photos), {}):
        for key, value in choice.values.items():
            put(values, key.split("."), value)
    recipe = check(Contents("x", json.loads(json.dumps(values)), []))
    assert recipe.method.name == ("cmw-net-sl" if photos else "two-looks")
    pace = OF_TABLES if len(shape) == 1 else USUAL
    assert recipe.train["epochs"] == default_epochs(samples, recipe.train["batch_size"], pace)
    assert [part.name for part in recipe.augment] == (
        [] if not photos else ["pad-crop", "flip"] if shape[1] >= 8 else ["flip"]
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--data", "{own}/table.csv", "--label", "knd"], "Did you mean 'kind'?"),
        (
            ["--data", "{own}/table.csv"],
            "which column is the label? There are: id, age, town, note, kind. Name one (--label COLUMN",
        ),
        (["--data", "{own}/nothing"], "is neither a path that exists nor the name of a dataset"),
        (["--data", "{own}/photos", "--label", "kind"], "--label: got 'kind', but a folder has no columns"),
        (["--label", "kind"], "--encoding and --join-labels need --data"),
        (["--data", "{own}/table.csv", "--label", "kind", "train.epoch=3", "method.name=cmw"], "2 mistakes"),
        (
            ["--data", "{own}/table.csv", "--label", "kind", "data.test_fraction=2"],
            "1 mistake\n  data.test_fraction: got 2",
        ),
        (["--data", "digits", "--resume", "x"], "--resume continues a run as it was started"),
    ],
)
def test_bad_input(own, run, tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    result = run("train", *[word.format(own=own) for word in words])
    assert result.exit_code == 2
    assert message in result.stderr
    assert "Chosen" not in result.stdout
    assert not (tmp_path / "runs").exists()


def test_groups_are_not_parted(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    draw = np.random.default_rng(0)
    frame = pd.DataFrame({"x": draw.normal(size=120), "z": draw.normal(size=120), "patient": np.arange(120) // 6})
    frame.assign(kind=np.where(frame["x"] > 0, "a", "b")).to_csv("t.csv", index=False)
    words = ["--label", "kind", "--group", "patient", "--out", "out", "train.epochs=2", "model.hidden=[8]"]
    result = run("train", "--data", "t.csv", *words)
    assert result.exit_code == 0, result.output
    assert "\n patient" not in result.stdout
    trained, held_out = (pd.read_csv(f"out/{name}.csv")["row"] // 6 for name in ("samples", "held_out"))
    assert not set(trained) & set(held_out)
    assert len(held_out) == 24
    assert run("inspect", "t.csv", "--label", "kind", "--group", "patient").exit_code == 0
