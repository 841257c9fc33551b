"""A comparison plans every run before the first: methods, biases and seeds."""

from dataclasses import replace
from pathlib import Path

import pytest

from reweigh.compare.grid import Key, plan
from reweigh.errors import RecipeError
from reweigh.recipes.read import check, read


def test_every_method_is_planned_with_every_seed():
    planned = plan("demo", ["train.seed=4", "train.epochs=9"], ["erm", "cmw-net"], seeds=2)
    assert list(planned) == [("", "erm", 4), ("", "erm", 5), ("", "cmw-net", 4), ("", "cmw-net", 5)]
    for (_, method, seed), recipe in planned.items():
        assert (recipe.method.name, recipe.train["seed"], recipe.train["epochs"]) == (method, seed, 9)
    assert planned[Key("", "erm", 4)].optimizer.options["lr"] == 0.05  # [compare.erm] of the recipe
    assert planned[Key("", "cmw-net", 4)].optimizer.options["lr"] == 0.02


def test_without_methods_and_biases_the_recipe_has_its_own():
    own = check(read("demo"))
    assert plan("demo", seeds=1) == {Key("", "cmw-net", 0): own}


def test_a_method_keeps_its_own_defaults_unless_the_option_means_the_same():
    planned = plan("demo", [], ["cmw-net", "mw-net", "l2rw", "two-looks"], seeds=1)
    options = {key.method: recipe.method.options for key, recipe in planned.items()}
    assert options["mw-net"]["every"] == options["cmw-net"]["every"] == 5  # of the recipe
    assert options["l2rw"]["every"] == 1  # as published
    assert options["two-looks"]["meta_lr"] == 3e-3


def test_what_the_user_types_goes_to_every_method_that_has_it():
    planned = plan("demo", ["method.every=7"], ["cmw-net", "l2rw", "erm"], seeds=1)
    assert [recipe.method.options.get("every") for recipe in planned.values()] == [7, 7, None]


def test_every_bias_is_planned_with_every_method():
    biases = ["asymmetric-0.2", "long-tail-50+symmetric-0.3", "clean"]
    planned = plan("demo", [], ["erm", "cmw-net"], biases, seeds=1)
    assert [(key.bias, key.method) for key in planned] == [(b, m) for b in biases for m in ("erm", "cmw-net")]
    rates = {"erm": 0.05, "cmw-net": 0.02}  # [compare.erm] of the recipe
    for key, recipe in planned.items():
        assert (recipe.method.name, recipe.optimizer.options["lr"]) == (key.method, rates[key.method])
    (asymmetric,) = planned[Key("asymmetric-0.2", "erm", 0)].source.parts["bias"]
    assert asymmetric.options == {"rate": 0.2, "map": "digits"}
    tail = planned[Key("long-tail-50+symmetric-0.3", "cmw-net", 0)]
    assert [part.options for part in tail.source.parts["bias"]] == [
        {"imbalance_factor": 50.0, "largest": None}, {"rate": 0.3},
    ]  # fmt: skip
    clean = planned[Key("clean", "cmw-net", 0)]
    assert clean.source.parts["bias"] == ()
    own = check(read("demo"))
    assert plan("demo", [], None, ["asymmetric-0.4"], 1)[Key("asymmetric-0.4", "cmw-net", 0)] == own
    assert replace(clean, data=own.data) == own  # nothing else changed


def test_where_a_run_is_and_what_it_is_called():
    assert Key("", "erm", 3).path(Path("runs")) == Path("runs/erm-seed3")
    assert Key("clean", "erm", 3).path(Path("runs")) == Path("runs/clean/erm-seed3")
    assert str(Key("", "erm", 3)) == "erm, seed 3"
    assert str(Key("clean", "erm", 3)) == "clean, erm, seed 3"


def test_all_that_is_wrong_is_told_once():
    with pytest.raises(RecipeError) as caught:
        plan(
            "demo",
            ["compare.focal.method.gamma=2.0"],
            ["emr", "erm", "erm", "cwm-net"],
            ["symmetric-1.4", "long-tail-0.5", "clean", "symetric-0.4"],
            seeds=0,
        )
    first, *mistakes = str(caught.value).splitlines()
    assert first == "comparison by recipe demo: 7 mistakes"
    starts = [
        "symetric-0.4: no bias named 'symetric'",
        "seeds: got 0; should be at least 1",
        "erm: named twice; once is enough",
        "emr: method.name: no method named 'emr'",
        "cwm-net: method.name: no method named 'cwm-net'",
        "symmetric-1.4: data.bias.0.rate: got 1.4; should be less than or equal to 1",
        "long-tail-0.5: data.bias.0.imbalance_factor: got 0.5; should be greater than or equal to 1",
    ]
    assert all(mistake.strip().startswith(start) for mistake, start in zip(mistakes, starts, strict=True))


def test_a_mistake_of_the_recipe_comes_alone():
    with pytest.raises(RecipeError, match=r"recipe demo: 1 mistake\n  train.epochs: got 0"):
        plan("demo", ["train.epochs=0"], ["erm"], ["clean"])
