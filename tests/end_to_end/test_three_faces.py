"""The same data get the same answer, to the last digit, from the estimator, a recipe and the command line."""

import csv
import shutil

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from reweigh import RobustClassifier
from reweigh.cli.app import app
from reweigh.fit.run_folder import begin, load_model
from reweigh.recipes.read import check, read

EPOCHS = 3
NAMES = np.array(["ash", "elm", "oak"])
ISSUES = ["given_label", "suggested_label", "label_quality", "is_label_issue"]


def draw_table(draw, samples, wrong):
    """Numbers, a category and a gap; a share of the labels is wrong."""
    truth = draw.integers(0, 3, samples)
    given = np.where(draw.random(samples) < wrong, draw.integers(0, 3, samples), truth)
    frame = pd.DataFrame(
        {
            "height": draw.normal(4 * truth, 1.5),
            "town": np.where(draw.random(samples) < 0.7, np.array(["Ulm", "Bonn", "Kiel"])[truth], "Trier"),
            "age": draw.normal(30 - 5 * truth, 4).round(1),
            "kind": NAMES[given],
        }
    )
    frame.loc[3, "age"] = np.nan
    return frame


def draw_images(draw, samples, wrong):
    """Color images of bytes, each class brighter in one channel; a share of the labels is wrong."""
    truth = draw.integers(0, 3, samples)
    given = np.where(draw.random(samples) < wrong, draw.integers(0, 3, samples), truth)
    images = draw.integers(0, 150, (samples, 3, 8, 8), dtype=np.uint8)
    images[np.arange(samples), truth] += 90
    return images, NAMES[given]


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """A folder with table.csv and test.csv, their features and labels as the estimator takes them, and CLI words."""
    folder, draw = tmp_path_factory.mktemp("table"), np.random.default_rng(0)
    parts = []
    for name, samples, wrong in (("train", 240, 0.2), ("test", 60, 0.0)):
        draw_table(draw, samples, wrong).to_csv(folder / f"{name}.csv", index=False)
        frame = pd.read_csv(folder / f"{name}.csv")
        parts.append((frame.drop(columns="kind"), frame["kind"]))
    return folder, "csv", *parts, ["--label", "kind"]


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    """The same for images, in .npz files."""
    folder, draw = tmp_path_factory.mktemp("images"), np.random.default_rng(1)
    parts = [draw_images(draw, samples, wrong) for samples, wrong in ((150, 0.2), (30, 0.0))]
    for name, (inputs, labels) in zip(("train", "test"), parts, strict=True):
        np.savez(folder / f"{name}.npz", X=inputs, y=labels)
    return folder, "npz", *parts, []


@pytest.fixture(scope="module", params=["table", "images"])
def answers(request):
    """The folder of the run that the command line made, the fits of the other two, and the test samples."""
    folder, suffix, (X, y), (X_test, _), words = request.getfixturevalue(request.param)
    shutil.rmtree(
        folder / "again", ignore_errors=True
    )  # this is set up again if tests of the other parameter came between
    command(
        *("train", "--data", folder / f"train.{suffix}", *words, "--out", folder / "run", "--overwrite"),
        *(f"data.test={folder / f'test.{suffix}'}", f"train.epochs={EPOCHS}", "train.seed=0"),
    )
    command("predict", folder / "run", folder / f"test.{suffix}", "--out", folder / "predicted.csv", "--overwrite")
    classifier = RobustClassifier(epochs=EPOCHS, random_state=0).fit(X, y)
    outcome = begin(check(read(folder / "run" / "recipe.toml")), folder / "again")
    return folder, classifier, outcome, X_test


def command(*words):
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == 0, result.output


def rows_of(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_the_plans_are_one(answers):
    folder, classifier, outcome, _ = answers
    by_command, plan = load_model(folder / "run").plan, classifier.plan_
    assert by_command == outcome.plan
    for part in ("model", "augment", "method", "loss", "meta_set", "optimizer", "train"):
        assert getattr(plan, part) == getattr(by_command, part), part


def test_the_weights_of_the_model_are_the_same(answers):
    folder, classifier, outcome, _ = answers
    expected = classifier.model_.state_dict()
    for model in (outcome.fit.model, load_model(folder / "run").model):
        found = model.state_dict()
        assert found.keys() == expected.keys()
        assert all(found[name].equal(expected[name]) for name in expected)


def test_the_label_issues_are_the_same(answers):
    folder, classifier, outcome, _ = answers
    expected = classifier.label_issues_[ISSUES].sort_index()
    assert 0 < expected["is_label_issue"].sum() < len(expected)
    by_recipe = outcome.fit.samples.label_issues(outcome.fit.class_names)[ISSUES].sort_index()
    pd.testing.assert_frame_equal(by_recipe, expected, check_exact=True, check_dtype=False)
    assert (folder / "run" / "samples.csv").read_bytes() == (folder / "again" / "samples.csv").read_bytes()
    rows = rows_of(folder / "run" / "samples.csv")
    assert [int(row["row"]) for row in rows] == expected.index.tolist()
    for column in ("given_label", "suggested_label"):
        assert [row[column] for row in rows] == expected[column].tolist()
    assert [row["label_quality"] for row in rows] == [f"{value:.6g}" for value in expected["label_quality"].tolist()]
    assert [row["is_label_issue"] == "True" for row in rows] == expected["is_label_issue"].tolist()


def test_the_predictions_are_the_same(answers):
    folder, classifier, _, X_test = answers
    rows, probability = rows_of(folder / "predicted.csv"), classifier.predict_proba(X_test).max(1)
    assert [row["predicted"] for row in rows] == classifier.predict(X_test).tolist()
    assert [row["probability"] for row in rows] == [f"{value:.6g}" for value in probability.tolist()]
