"""Rivals that are plain training with another loss: their formulas by hand, and where they meet plain training."""

import inspect
from dataclasses import replace

import pytest
import torch

from reweigh.errors import DataError, RecipeError
from reweigh.fit.run_folder import begin
from reweigh.losses import LOSSES
from reweigh.methods import METHODS, build, options_of_method
from reweigh.methods.setup import keyword_only
from reweigh.recipes.read import Contents, check
from reweigh.weighting import load_weighting

SIZES = [10, 6, 4]


def focal(row, label, place):
    p = row.softmax(0)[label]
    return -((1 - p) ** 3) * p.log()


def class_balanced(row, label, place):
    inverse = [1 / sum(0.9**k for k in range(size)) for size in SIZES]
    return -3 * inverse[label] / sum(inverse) * row.log_softmax(0)[label]


def gce(row, label, place):
    return (1 - row.softmax(0)[label] ** 0.4) / 0.4


@pytest.mark.parametrize(
    ("name", "options", "formula"),
    [("focal", {"gamma": 3.0}, focal), ("class-balanced", {"beta": 0.9}, class_balanced), ("gce", {"q": 0.4}, gce)],
)
def test_two_steps_by_hand(tiny, by_hand, name, options, formula):
    problem = tiny(name, **options)
    slow = by_hand(problem.model)
    problem.epoch(0, warm_up=True)
    for batch in problem.batches:
        slow.step(batch, formula)
    slow.check(problem.model)


@pytest.mark.parametrize(
    ("name", "options"), [("focal", {"gamma": 0.0}), ("class-balanced", {"beta": 0.0}), ("gce", {"q": 1e-10})]
)
def test_where_it_is_plain_training(like_erm, name, options):
    like_erm(name, near=1e-8, **options)
    with pytest.raises(AssertionError):
        like_erm(name)


@pytest.mark.parametrize("name", [name for name in METHODS if METHODS[name].own_loss not in (None, "forward")])
def test_the_options_of_its_loss_are_its_options_with_the_same_limits_and_defaults(name):
    options = options_of_method(METHODS[name])
    for option, parameter in keyword_only(LOSSES[str(METHODS[name].own_loss)]).items():
        assert options[option] == parameter


@pytest.mark.parametrize("name", [name for name in METHODS if name in LOSSES and name != "forward"])
def test_its_meaning_is_that_of_the_loss(name):
    assert keyword_only(METHODS[name]) == keyword_only(LOSSES[name])
    first = (inspect.getdoc(METHODS[name]) or "").partition("\n")[0]
    assert (inspect.getdoc(LOSSES[name]) or "").startswith(first)
    assert "20" in first  # the year


@pytest.mark.parametrize("method", ["focal", "ldam-drw", "ldam+cmw-net", "forward"])
def test_a_recipe_cannot_ask_for_another_loss(recipe, method):
    message = rf"loss\.name: got 'gce', but the method {method.replace('+', '.')} brings a loss of its own; remove"
    with pytest.raises(RecipeError, match=message):
        check(Contents("here", recipe(method={"name": method}, loss={"name": "gce"}), []))
    check(Contents("here", recipe(method={"name": method}, loss={"name": "cross-entropy"}), []))
    check(Contents("here", recipe(method={"name": "erm"}, loss={"name": "gce"}), []))


def test_a_saved_weighting_function_knows_the_loss_that_it_reads(recipe, tmp_path):
    small = recipe(
        data={"name": "digits", "train_size": 100},
        model={"name": "mlp", "hidden": [4]},
        method={"name": "ldam+cmw-net"},
    )
    begin(check(Contents("here", small, [])), tmp_path / "run")
    assert load_weighting(tmp_path / "run" / "weighting.safetensors")[1].loss == "ldam"


def test_a_class_without_samples(tiny):
    problem = tiny("class-balanced")
    problem.setup.train_set.labels[problem.data.labels == 2] = 0
    method = build("class-balanced", problem.setup)
    with pytest.raises(DataError, match="no samples of class 2 of 3"):
        method.step(problem.batches[0])


def test_given_weights_count(tiny, by_hand):
    problem = tiny("focal", gamma=3.0)
    slow = by_hand(problem.model)
    batch = replace(problem.batches[0], weights=torch.arange(12).double())
    problem.method.start_epoch(0, False)
    problem.method.step(batch)
    slow.step(batch, lambda row, label, place: place * focal(row, label, place))
    slow.check(problem.model)
