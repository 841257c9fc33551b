"""A share of the training samples can be held out, and its scores give thresholds that hold for others."""

import csv
import json
import math

import pytest
import torch

from reweigh.errors import DataError, RecipeError
from reweigh.fit.issues import set_apart
from reweigh.fit.run_folder import begin, load_model
from reweigh.fit.scored import scored
from reweigh.fit.source import read_source
from reweigh.recipes.read import check, read
from reweigh.selective import threshold

RECIPE = """
[data]
name = "digits"
test_fraction = 0.4
bias = [{ name = "symmetric", rate = 0.2 }]
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
abstain = 0.3
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
    whole = read_source(recipe(tmp_path)).train
    kept, apart = set_apart(whole, 0.3, 0)
    assert len(apart) == round(0.3 * len(whole))
    assert torch.equal(torch.cat([kept, apart]).sort().values, torch.arange(len(whole)))
    shares = whole.subset(apart).class_sizes / whole.class_sizes
    assert (shares - 0.3).abs().max() < 0.02
    assert torch.equal(set_apart(whole, 0.3, 0)[1], apart)
    assert not torch.equal(set_apart(whole, 0.3, 1)[1], apart)


def test_the_run_keeps_its_scores(outcome):
    run = outcome.run
    train = outcome.train_set
    assert column(run.samples, "row") == [str(row) for row in train.origin.tolist()]  # those held out are judged too
    assert all(column(run.samples, "label_quality"))
    _, apart = set_apart(train, 0.3, 0)
    assert [place for place, weight in enumerate(column(run.samples, "weight")) if not weight] == apart.tolist()
    again = scored(load_model(run.path).model, train.subset(apart))
    kept = torch.tensor(list(map(float, column(run.abstain, "score"))), dtype=torch.float64)
    torch.testing.assert_close(kept, again.scores, rtol=1e-6, atol=1e-9)
    assert column(run.test, "score") != column(run.test, "probability")
    last = json.loads(run.summary.read_text())["last"]
    assert {f"test_error_at_{level}" for level in range(70, 101, 5)} <= last.keys()
    assert last["test_error_at_100"] == pytest.approx(1 - last["test_accuracy"])
    assert last["test_risk_coverage_area"] < last["test_error_at_100"]


@pytest.mark.parametrize("coverage", [0.6, 0.8, 0.95])
def test_its_thresholds_hold_for_held_out_samples(outcome, coverage):
    """Within four times the spread by the samples that set the threshold and by those that it is tried on."""
    apart = torch.tensor(list(map(float, column(outcome.run.abstain, "score"))), dtype=torch.float64)
    scores = outcome.fit.tested.scores
    reached = float((scores >= threshold(apart, coverage)).double().mean())
    spread = math.sqrt(coverage * (1 - coverage) * (1 / len(apart) + 1 / len(scores)))
    assert abs(reached - coverage) < 4 * spread


def test_without_it_nothing_is_held_out(tmp_path):
    text = RECIPE.replace("abstain = 0.3\n", "")
    outcome = begin(recipe(tmp_path, "train.epochs=1", text=text), tmp_path / "run")
    assert outcome.fit.held_out is None
    assert not outcome.run.abstain.exists()


@pytest.mark.parametrize("share", ["0", "1", "1.5", "-0.1"])
def test_a_share_that_is_none(tmp_path, share):
    with pytest.raises(RecipeError, match=r"train\.abstain"):
        recipe(tmp_path, f"train.abstain={share}")


def test_too_few_to_share(tmp_path):
    train = read_source(recipe(tmp_path)).train
    with pytest.raises(DataError, match=r"abstain: 0\.1 of 3 samples is 0; both parts need at least one"):
        set_apart(train.subset(torch.arange(3)), 0.1, 0)
    two = train.subset((train.labels == 0) | (train.labels == 1)).subset(torch.arange(12))
    with pytest.raises(DataError, match=r"leaves no sample of class . to train on"):
        set_apart(two.subset((two.labels == 0) | (torch.arange(12) == int((two.labels == 1).nonzero()[0]))), 0.7, 0)
