"""Co-teaching: each network learns from what the other finds easy; the first alone is judged."""

import copy
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from reweigh.errors import RecipeError
from reweigh.methods.noisy.two_networks import CoTeaching
from reweigh.recipes.read import Contents, check


def loss_of(row, label, place=0):
    return -row.log_softmax(0)[label]


def slow_choice(slow, batch, kept):
    """Places of the samples of smallest loss."""
    losses = [loss_of(slow.logits(x), y).item() for x, y in zip(batch.inputs, batch.labels.tolist(), strict=True)]
    order = sorted(range(len(losses)), key=losses.__getitem__)
    return {int(batch.index[place]) for place in order[:kept]}


def test_three_epochs_by_hand(tiny, by_hand):
    problem = tiny("co-teaching", forget_rate=0.5, gradual_epochs=2)
    method = problem.method
    assert isinstance(method, CoTeaching)
    first, second = by_hand(problem.model), by_hand(method._peer.model)
    weights = {}
    for epoch, forgotten in enumerate([0.0, 0.25, 0.5]):
        problem.epoch(epoch)
        for batch in problem.batches:
            kept = len(batch) - round(forgotten * len(batch))
            for_second, for_first = slow_choice(first, batch, kept), slow_choice(second, batch, kept)
            for net, chosen in ((first, for_first), (second, for_second)):
                net.step(batch, lambda row, label, place, c=chosen: (place in c) * loss_of(row, label), size=kept)
            weights |= {place: place in for_first for place in batch.index.tolist()}
    first.check(problem.model)
    second.check(method._peer.model)
    assert method.model is problem.model
    assert method.sample_weights().tolist() == [weights[place] for place in range(20)]
    assert sum(weights.values()) == 10


def test_nothing_forgotten_is_plain_training_of_the_first(like_erm):
    like_erm("co-teaching", exactly=True, forget_rate=0.0)
    like_erm("co-teaching", exactly=True, warm_up=True, forget_rate=0.9, gradual_epochs=0)
    with pytest.raises(AssertionError):
        like_erm("co-teaching", forget_rate=0.5, gradual_epochs=0)


def test_the_second_starts_elsewhere_and_takes_no_random_numbers(tiny):
    plain = tiny("erm")
    states = torch.get_rng_state(), plain.setup.generator.get_state()
    problem, again = tiny("co-teaching"), tiny("co-teaching")
    assert torch.equal(torch.get_rng_state(), states[0])
    assert torch.equal(problem.setup.generator.get_state(), states[1])
    assert torch.equal(problem.model.weight, plain.model.weight)
    first, second = problem.model.weight, problem.method._peer.model.weight
    assert not torch.equal(first, second)
    assert torch.equal(first.flatten().sort().values, second.flatten().sort().values)
    assert torch.equal(second, again.method._peer.model.weight)
    other = tiny("erm")
    other.setup.generator.manual_seed(1)
    assert not torch.equal(CoTeaching(other.setup)._peer.model.weight, second)


def test_a_part_of_the_second_can_stay(tiny):
    problem = tiny("erm")
    model = nn.Sequential(nn.Linear(4, 5), nn.BatchNorm1d(5), nn.ReLU(), nn.Linear(5, 3))
    optimizer = torch.optim.Adam(model.parameters(), 0.003, weight_decay=0.1)
    setup = copy.copy(problem.setup)
    object.__setattr__(setup, "model", model)
    object.__setattr__(setup, "optimizer", optimizer)
    method = CoTeaching(setup, reset="last-layer")
    assert torch.equal(CoTeaching(replace(setup, started=True))._peer.model[3].weight, method._peer.model[3].weight)
    assert not torch.equal(CoTeaching(setup)._peer.model[0].weight, model[0].weight)
    assert torch.equal(method._peer.model[0].weight, model[0].weight)
    assert not torch.equal(method._peer.model[3].weight, model[3].weight)
    theirs = method._peer.optimizer
    assert type(theirs) is torch.optim.Adam
    assert {id(p) for p in theirs.param_groups[0]["params"]} == {id(p) for p in method._peer.model.parameters()}
    assert theirs.param_groups[0]["weight_decay"] == 0.1


def test_the_second_follows_the_schedule(tiny):
    problem = tiny("co-teaching")
    problem.setup.optimizer.param_groups[0]["lr"] = 0.025
    problem.method._peer.model.eval()
    problem.method.start_epoch(3, warm_up=False)
    assert problem.method._peer.optimizer.param_groups[0]["lr"] == 0.025
    assert problem.method._peer.model.training


@pytest.mark.parametrize("size", [1, 2, 3])
def test_one_sample_at_least_is_learned_from(tiny, size):
    problem = tiny("co-teaching", forget_rate=0.99, gradual_epochs=0)
    before = problem.model.weight.clone()
    problem.method.start_epoch(0, warm_up=False)
    numbers = problem.method.step(problem.data.batch(torch.arange(size)))
    assert numbers["weight"] == pytest.approx(1 / size)
    assert F.mse_loss(before, problem.model.weight) > 1e-6


@pytest.mark.parametrize("rate", [1.0, 1.2, -0.1, float("nan")])
def test_a_forget_rate_that_leaves_nothing(recipe, rate):
    with pytest.raises(RecipeError, match=r"method\.forget_rate: got (1\.0|1\.2|-0\.1|NaN); should be "):
        check(Contents("here", recipe(method={"name": "co-teaching", "forget_rate": rate}), []))
