"""A share of the training samples can be held out, and its scores give thresholds that hold for others."""

import csv
import json
import math

import pytest
import torch

from reweigh.data.subsets import set_apart
from reweigh.errors import DataError, RecipeError
from reweigh.recipes.biased_data import read_calibrated, read_data
from reweigh.recipes.check import check
from reweigh.recipes.perform import begin
from reweigh.recipes.read import read
from reweigh.recipes.reload import reload
from reweigh.recipes.scored import scored
from reweigh.selective import threshold

REAL_TABLES = True

RECIPE = """
[data]
name = "digits"
test_fraction = 0.4
bias = [{ name = "symmetric", rate = 0.2 }]
calibration = 0.3
[model]
name = "mlp"
hidden = [16]
[method]
name = "selectivenet+cmw-net"
[meta_set]
name = "balanced-random"
per_class = 10
[train]
epochs = 6
warmup_epochs = 1
[optimizer]
name = "sgd"
lr = 0.05
"""


def recipe(folder, *overrides, text=RECIPE):
    path = folder / "recipe.toml"
    path.write_text(text)
    return check(read(path, overrides))


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    folder = tmp_path_factory.mktemp("calibrated")
    return begin(recipe(folder), folder / "run")


def column(path, name):
    with open(path, newline="") as file:
        return [row[name] for row in csv.DictReader(file)]


def test_it_is_stratified_and_never_trained_on(tmp_path):
    data = recipe(tmp_path).data
    (train, test), apart = read_calibrated(data, 0)
    assert apart is not None
    whole = read_data(recipe(tmp_path, "data.calibration=0.001").data, 0)
    assert len(train) + len(apart) == len(whole.train) + 1
    assert len(apart) == round(0.3 * (len(train) + len(apart)))
    assert not set(train.origin.tolist()) & set(apart.origin.tolist())
    shares = apart.class_sizes / (apart.class_sizes + train.class_sizes)
    assert (shares - 0.3).abs().max() < 0.02
    assert (apart.labels != apart.true_labels).any()
    again, _ = read_calibrated(data, 0)
    assert torch.equal(again.train.labels, train.labels)
    assert len(test) == len(whole.test)


def test_the_run_keeps_its_scores(outcome):
    run, assembly = outcome.run, outcome.assembly
    assert len(column(run.samples, "index")) == len(assembly.splits.train)
    again = scored(reload(run.path).model, assembly.calibration)
    kept = torch.tensor(list(map(float, column(run.calibration, "score"))), dtype=torch.float64)
    torch.testing.assert_close(kept, again.scores, rtol=1e-6, atol=1e-9)
    assert column(run.test, "score") != column(run.test, "probability")
    last = json.loads(run.summary.read_text())["last"]
    assert {f"test_error_at_{level}" for level in range(70, 101, 5)} <= last.keys()
    assert last["test_error_at_100"] == pytest.approx(1 - last["test_accuracy"])
    assert last["test_risk_coverage_area"] < last["test_error_at_100"]


@pytest.mark.parametrize("coverage", [0.6, 0.8, 0.95])
def test_its_thresholds_hold_for_held_out_samples(outcome, coverage):
    """Within four times the spread by the samples that set the threshold and by those that it is tried on."""
    assembly = outcome.assembly
    apart = torch.tensor(list(map(float, column(outcome.run.calibration, "score"))), dtype=torch.float64)
    scores = scored(assembly.method.model, assembly.splits.test).scores
    reached = float((scores >= threshold(apart, coverage)).double().mean())
    spread = math.sqrt(coverage * (1 - coverage) * (1 / len(apart) + 1 / len(scores)))
    assert abs(reached - coverage) < 4 * spread


def test_without_it_nothing_is_held_out(tmp_path):
    text = RECIPE.replace("calibration = 0.3\n", "")
    outcome = begin(recipe(tmp_path, "train.epochs=1", text=text), tmp_path / "run")
    assert outcome.assembly.calibration is None
    assert not outcome.run.calibration.exists()


@pytest.mark.parametrize("share", ["0", "1", "1.5", "-0.1"])
def test_a_share_that_is_none(tmp_path, share):
    with pytest.raises(RecipeError, match=r"data\.calibration"):
        recipe(tmp_path, f"data.calibration={share}")


def test_too_few_to_share(tmp_path):
    train = read_data(recipe(tmp_path).data, 0).train
    with pytest.raises(DataError, match="leave some on both sides"):
        set_apart(train.subset(torch.arange(3)), 0.1, 0)
