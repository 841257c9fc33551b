"""The comparison plans every run before the first, and shows mean and spread of what came out."""

import json
import statistics
from types import SimpleNamespace

import pytest
import torch

from reweigh.cli.compare import plan
from reweigh.cli.comparison import spread, to_json
from reweigh.cli.outcome import family_label, trust
from reweigh.errors import RecipeError
from reweigh.families import by_size


def test_every_method_is_planned_with_every_seed():
    planned = plan("demo", ["train.seed=4", "train.epochs=9"], "erm, cmw-net,erm", 2)
    assert list(planned) == [("erm", 4), ("erm", 5), ("cmw-net", 4), ("cmw-net", 5)]
    for (method, seed), recipe in planned.items():
        assert (recipe.method.name, recipe.train["seed"], recipe.train["epochs"]) == (method, seed, 9)


def test_without_methods_the_recipe_has_its_own():
    assert {method for method, _ in plan("demo", [], None, 1)} == {"cmw-net"}


def test_all_wrong_methods_are_told():
    with pytest.raises(RecipeError, match=r"(?s)'emr'.*'cwm-net'"):
        plan("demo", [], "emr,mw-net,cwm-net", 1)


def test_the_spread_is_the_sample_standard_deviation():
    values = [90.0, 92.0, 97.0]
    mean = sum(values) / 3
    deviation = (sum((value - mean) ** 2 for value in values) / 2) ** 0.5
    assert spread(values) == f"{mean:.2f} ± {deviation:.2f}"
    assert deviation == pytest.approx(statistics.stdev(values))
    assert spread([90.0]) == "90.00"


def test_json_holds_every_run():
    lines = [{"epoch": 1, "test_accuracy": 0.9, "seconds": 1.5}, {"epoch": 2, "test_accuracy": 0.8, "seconds": 2.0}]
    outcome = SimpleNamespace(
        recipe=SimpleNamespace(train={"seed": 3}),
        run=SimpleNamespace(path="runs/x"),
        result=SimpleNamespace(history=lines, last=lines[1], best=lines[0]),
    )
    found = json.loads(to_json("demo", {"erm": [outcome]}))  # pyright: ignore[reportArgumentType]
    assert found == {
        "recipe": "demo",
        "methods": {"erm": [{"seed": 3, "run": "runs/x", "seconds": 3.5, "last": lines[1], "best": lines[0]}]},
    }


def outcome_with(weights, labels, true_labels):
    return SimpleNamespace(
        assembly=SimpleNamespace(
            method=SimpleNamespace(sample_weights=lambda: weights),
            splits=SimpleNamespace(train=SimpleNamespace(labels=labels, true_labels=true_labels)),
        )
    )


def test_trust_sets_right_labels_against_wrong_ones():
    labels, true = torch.tensor([0, 1, 1, 0]), torch.tensor([0, 1, 0, 0])
    words = trust(outcome_with(torch.tensor([0.8, 0.6, 0.1, float("nan")]), labels, true))  # pyright: ignore
    assert words == "25% of the training labels are wrong; mean weight of right labels 0.70, of wrong ones 0.10"
    for other in [(None, labels, true), (torch.ones(4), labels, None), (torch.ones(4), labels, labels)]:
        assert trust(outcome_with(*other)) is None  # pyright: ignore


def test_a_family_is_told_by_size_and_names():
    families = by_size(torch.tensor([100, 10, 12]), 2)
    assert family_label(("cat", "dog", "owl"), families, 0) == "classes of about 11 samples: dog, owl"
    assert family_label(("cat", "dog", "owl"), families, 1) == "class of about 100 samples: cat"
    assert family_label(("cat", "dog", "owl"), by_size(torch.tensor([5, 5, 5]), 1), 0) == "all classes"
