"""A scaled plan runs the same course in fewer epochs."""

import pytest
import torch

from reweigh.errors import RecipeError
from reweigh.plan.edit import from_toml, to_toml
from reweigh.recipes.read import check, read


def rates(plan):
    """The learning rate of each epoch."""
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], plan.optimizer.options["lr"])
    schedule = plan.optimizer.parts["schedule"][0].bind()(optimizer, plan.train["epochs"])
    return [schedule.start_epoch(epoch) for epoch in range(plan.train["epochs"])]


def test_epochs_shrink_and_the_weight_net_moves_as_far():
    plan = check(read("cifar10-long-tail", ["train.scale=0.25"]))
    assert (plan.train["epochs"], plan.train["warmup_epochs"], plan.train["scale"]) == (50, 40, 1)
    assert plan.method.options["meta_lr"] == 4e-4
    assert plan.optimizer.parts["schedule"][0].options["milestones"] == (40, 45)
    assert from_toml(to_toml(plan), "again") == plan  # not scaled twice


@pytest.mark.parametrize(
    ("recipe", "changes"),
    [
        ("cifar10-long-tail", []),
        ("cifar10-feature-dependent-sl", []),
        ("demo", ["train.warmup_epochs=4"]),
        ("cifar10-long-tail", ["optimizer.schedule={name='cosine', warmup=20}"]),
        ("imagenet-semi", []),
        ("cifar10-selective", []),
    ],
)
def test_the_rate_of_an_epoch_is_that_of_the_published_epoch_it_stands_for(recipe, changes):
    whole, quarter = (rates(check(read(recipe, [*changes, *more]))) for more in ([], ["train.scale=0.25"]))
    assert len(quarter) == len(whole) / 4
    expected = whole[::4]
    differ = sum(abs(one - other) > 0.02 * max(whole) for one, other in zip(quarter, expected, strict=True))
    if "warmup" in str(changes):
        differ -= 5  # steps of the rise are as many as its epochs
    assert differ <= 0.05 * len(quarter) + 1


def test_options_of_methods_that_count_epochs():
    plan = check(read("cifar10-partial", ["train.scale=0.1"]))
    assert plan.method.options["identify_epochs"] == 10
    whole = check(read("cifar10-partial"))
    assert plan.method.options.keys() == whole.method.options.keys()


@pytest.mark.parametrize(
    ("scale", "message"),
    [
        ("0.001", "leaves none of 200 epochs"),
        ("0.003", "leaves none of 160 epochs of warm-up"),
        ("0.01", "leaves no epoch after the warm-up, and so no meta step; use at least 0.025"),
        ("0", "should be greater than 0"),
        ("2", "should be less than or equal to 1"),
    ],
)
def test_a_scale_that_leaves_too_little(scale, message):
    with pytest.raises(RecipeError, match=message):
        check(read("cifar10-long-tail", [f"train.scale={scale}"]))
