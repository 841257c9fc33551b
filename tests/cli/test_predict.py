"""``reweigh predict``: as the run itself predicted its test samples, and for data without labels."""

import csv
import json
import shutil

import numpy as np
import pytest

from reweigh.data.named.own_files import files

UNSEALED = shutil.ignore_patterns("SHA256SUMS")  # the files are changed on purpose


def rows_of(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize(("name", "data", "key"), [("table", "table.csv", "row"), ("photos", "photos", "name")])
def test_predictions_are_those_of_the_run(own, run, tmp_path, name, data, key):
    result = run("predict", own / f"{name}-run", own / data, "--out", tmp_path / "p.csv")
    assert result.exit_code == 0, result.output
    predicted = rows_of(tmp_path / "p.csv")
    assert [name for name in predicted[0] if name != "id"] == [key, "predicted", "probability"]
    test = files(own, path=data, label="kind" if key == "row" else None).test
    tested = rows_of(own / f"{name}-run" / "test.csv")
    assert len(tested) == len(test)
    for row, place in zip(tested, test.origin.tolist(), strict=True):
        again = predicted[place]
        assert again[key] == (str(place) if key == "row" else test.reading.names[place])
        assert again["predicted"] == test.class_names[int(row["predicted"])] == row["predicted_label"]
        assert (row["row"], row.get(key)) == (str(place), again[key])
        assert row["given_label"] == test.class_names[int(row["label"])]
        assert float(again["probability"]) == pytest.approx(float(row["probability"]), abs=2e-6)


def test_neither_the_label_column_nor_the_training_data_are_needed(own, run, tmp_path):
    import pandas as pd

    shutil.copytree(own / "table-run", tmp_path / "run", ignore=UNSEALED)
    recipe = tmp_path / "run" / "recipe.toml"
    recipe.write_text(recipe.read_text().replace("table.csv", "gone.csv"))
    frame = pd.read_csv(own / "table.csv", keep_default_na=False)
    frame.drop(columns="kind").sample(frac=1, axis=1, random_state=0).to_csv(tmp_path / "new.csv", index=False)
    assert run("predict", tmp_path / "run", tmp_path / "new.csv", "--out", tmp_path / "new-p.csv").exit_code == 0
    assert run("predict", own / "table-run", own / "table.csv", "--out", tmp_path / "p.csv").exit_code == 0
    assert (tmp_path / "new-p.csv").read_text() == (tmp_path / "p.csv").read_text()


def test_one_image_a_flat_folder_and_arrays(own, run, tmp_path):
    from PIL import Image

    files_there = sorted((own / "photos").rglob("0*.png"))
    flat = tmp_path / "flat"
    flat.mkdir()
    for file in files_there:
        shutil.copy(file, flat)
    (flat / "notes.txt").write_text("no image")
    assert run("predict", own / "photos-run", flat, "--out", tmp_path / "flat.csv").exit_code == 0
    np.savez(tmp_path / "new.npz", X=np.stack([np.array(Image.open(flat / f.name)) for f in files_there]))
    assert run("predict", own / "photos-run", tmp_path / "new.npz", "--out", tmp_path / "new.csv").exit_code == 0
    by_name = {row["name"]: row["predicted"] for row in rows_of(tmp_path / "flat.csv")}
    assert [by_name[file.name] for file in files_there] == [row["predicted"] for row in rows_of(tmp_path / "new.csv")]
    one = run("predict", own / "photos-run", flat / files_there[0].name)
    assert one.exit_code == 0
    assert by_name[files_there[0].name] in one.stdout


def test_some_are_shown(own, run):
    result = run("predict", own / "table-run", own / "table.csv")
    assert "120 samples, predicted with a probability of" in result.stdout
    assert "--out predictions.csv writes all 120." in result.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["{own}/table-run", "{own}/photos"], "images, but the model was trained on rows of a table"),
        (["{own}/photos-run", "{own}/table.csv"], "a table, but the model was trained on images of 1 x 8 x 8"),
        (["{own}/photos-run", "large.npz"], "images of 1 x 9 x 9, but the model was trained on images of 1 x 8 x 8"),
        (["{own}/photos-run", "floats.npz"], "floats, but the model was trained on bytes"),
        (["{own}/photos-run", "{own}/photos/digit 0/broken.png"], "not a readable image"),
        (["{own}/photos-run", "words.txt"], "a table, but the model was trained on images"),
        (["{own}/photos-run", "empty"], "no readable image"),
        (["{own}/photos-run", "gone"], "there is nothing at this path"),
        (["{own}/table-run", "other.csv"], "no column 'town'.\n"),
        (["{own}/table-run", "latin.csv"], "not in utf-8; give its encoding"),
        (["{own}/table-run", "{own}/table.csv", "--out", "nowhere/p.csv"], "there is no folder nowhere"),
        (
            ["{own}/table-run", "{own}/table.csv", "--out", "{own}/table.csv", "--overwrite"],
            "would write into the data",
        ),
        (["{own}", "{own}/table.csv"], "there is no run here"),
        (["unended", "{own}/table.csv"], "continue it with: reweigh train --resume unended"),
        (["broken", "{own}/table.csv"], "not the weights of the model in the recipe"),
        (["newer", "{own}/table.csv"], "not as this version of reweigh writes it (version:"),
    ],
)
def test_bad_input(own, run, tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    np.savez("large.npz", X=np.zeros((3, 9, 9), np.uint8))
    np.savez("floats.npz", X=np.zeros((3, 1, 8, 8), np.float32))
    (tmp_path / "words.txt").write_text("words")
    (tmp_path / "empty").mkdir()
    (tmp_path / "other.csv").write_text("id,age,note\n1,2,3\n")
    (tmp_path / "latin.csv").write_bytes(b"id,age,town,note\n1,2,K\x81\x8d\xff,3\n")
    for name in ("unended", "broken", "newer"):
        shutil.copytree(own / "table-run", name, ignore=UNSEALED)
    (tmp_path / "unended" / "model.safetensors").unlink()
    shutil.copy(own / "photos-run" / "model.safetensors", "broken")
    form = json.loads((tmp_path / "newer" / "inputs.json").read_text())
    (tmp_path / "newer" / "inputs.json").write_text(json.dumps(form | {"version": 2}))
    result = run("predict", *[word.format(own=own) for word in words])
    assert result.exit_code == 2
    assert message in result.stderr


@pytest.fixture(scope="module")
def calibrated(own, tmp_path_factory):
    """A short run that held samples out."""
    from typer.testing import CliRunner

    from reweigh.cli.app import app

    folder = tmp_path_factory.mktemp("calibrated") / "run"
    words = ["train", "--data", own / "table.csv", "--label", "kind", "--out", folder]
    changes = ["train.abstain=0.3", "method.name=selectivenet+cmw-net", "train.epochs=4", "train.warmup_epochs=1"]
    result = CliRunner().invoke(app, list(map(str, [*words, *changes])))
    assert result.exit_code == 0, result.output
    return folder


def test_it_abstains_where_it_is_not_sure(own, run, calibrated, tmp_path):
    everything = run("predict", calibrated, own / "table.csv", "--out", tmp_path / "all.csv")
    some = run("predict", calibrated, own / "table.csv", "--coverage", "0.6", "--out", tmp_path / "some.csv")
    assert everything.exit_code == some.exit_code == 0, some.output
    pairs = list(zip(rows_of(tmp_path / "all.csv"), rows_of(tmp_path / "some.csv"), strict=True))
    kept = [(one, other) for one, other in pairs if other["predicted"]]
    assert all(one == other for one, other in kept)
    assert 0.3 < len(kept) / len(pairs) < 0.9
    assert f"{len(kept)} of {len(pairs)} are predicted ({len(kept) / len(pairs):.1%}, wanted 60.0%)" in some.stdout
    assert "(not sure)" in run("predict", calibrated, own / "table.csv", "--coverage", "0.3").stdout
    full = run("predict", calibrated, own / "table.csv", "--coverage", "1", "--out", tmp_path / "full.csv")
    assert full.exit_code == 0
    assert (tmp_path / "full.csv").read_text() == (tmp_path / "all.csv").read_text()


@pytest.mark.parametrize("coverage", ["0", "1.5", "-0.2", "nan"])
def test_a_coverage_that_is_none(own, run, calibrated, coverage):
    result = run("predict", calibrated, own / "table.csv", f"--coverage={coverage}")
    assert result.exit_code == 2
    assert "--coverage: got" in result.stderr
    assert "should be above 0 and at most 1" in result.stderr


def test_a_run_that_held_nothing_out(own, run):
    result = run("predict", own / "table-run", own / "table.csv", "--coverage", "0.9")
    assert result.exit_code == 2
    assert "hold some out with: reweigh train RECIPE train.abstain=0.1" in result.stderr


def test_scores_that_the_run_did_not_write(own, run, calibrated, tmp_path):
    shutil.copytree(calibrated, tmp_path / "run", ignore=UNSEALED)
    (tmp_path / "run" / "abstain.csv").write_text("index,label,predicted,score\n0,1,1,high\n")
    result = run("predict", tmp_path / "run", own / "table.csv", "--coverage", "0.9")
    assert result.exit_code == 2
    assert "abstain.csv: column 'score', row 1: got 'high'; should be a number" in result.stderr


def test_folders_of_classes_are_compared_with_the_predictions(run, own):
    result = run("predict", own / "photos-run", own / "photos")
    assert result.exit_code == 0, result.output
    assert "Compared with the 90 labels in the names of folders, right or wrong: accuracy" in result.output
