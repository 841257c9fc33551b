"""Forward correction as a method: noise that is given, noise that is estimated, and matrices that are none."""

import logging

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from reweigh.data import Dataset
from reweigh.errors import DataError, RecipeError
from reweigh.losses import LOSSES
from reweigh.meta_sets import META_SETS
from reweigh.methods import build
from reweigh.methods.noisy.forward import Forward, estimate
from reweigh.methods.setup import Setup
from reweigh.recipes.read import Contents, check

NOISE = ((0.7, 0.3, 0.0), (0.1, 0.8, 0.1), (0.0, 0.4, 0.6))
IDENTITY = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


def corrected(noise):
    def loss(row, label, place):
        return -sum(p * noise[true][label] for true, p in enumerate(row.softmax(0))).log()

    return loss


def test_given_noise_is_corrected_from_the_first_step_on(tiny, by_hand):
    problem = tiny("forward", transition=NOISE)
    slow = by_hand(problem.model)
    for epoch in range(2):
        problem.epoch(epoch, warm_up=epoch == 0)
        for batch in problem.batches:
            slow.step(batch, corrected(NOISE))
    slow.check(problem.model)


def test_no_noise_is_plain_training(like_erm):
    like_erm("forward", transition=IDENTITY)
    like_erm("forward", exactly=True, warm_up=True)
    with pytest.raises(AssertionError):
        like_erm("forward", transition=NOISE)


def slow_estimate(model, inputs, quantile):
    """The anchor of a class: sort all samples by its probability, and walk up to the quantile."""
    predicted = [model(sample).double().softmax(0).tolist() for sample in inputs]
    rows = []
    for target in range(3):
        ascending = sorted(predicted, key=lambda row, target=target: row[target])
        rows.append(ascending[int(quantile * (len(ascending) - 1))])
    return rows


@pytest.mark.parametrize("quantile", [0.3, 0.8, 1.0])
@pytest.mark.parametrize("warm_up_epochs", [0, 1, 2])
def test_noise_is_estimated_once_when_the_warm_up_ends(tiny, by_hand, quantile, warm_up_epochs):
    problem, plain = tiny("forward", quantile=quantile), tiny("erm")
    first = max(warm_up_epochs, 1)  # an epoch at least
    for epoch in range(first):
        assert problem.method.transition is None
        problem.epoch(epoch, epoch < warm_up_epochs)
        plain.epoch(epoch)
    assert torch.equal(problem.model.weight, plain.model.weight)
    noise = slow_estimate(plain.model, problem.data.inputs.double(), quantile)
    slow = by_hand(problem.model)
    for epoch in (first, first + 1):
        problem.epoch(epoch)
        torch.testing.assert_close(torch.tensor(problem.method.transition), torch.tensor(noise))
        for batch in problem.batches:
            slow.step(batch, corrected(noise))
    slow.check(problem.model)


def test_the_estimate_comes_near_the_truth():
    generator = torch.Generator().manual_seed(0)
    truth = torch.arange(900) % 3
    given = torch.multinomial(torch.tensor(NOISE)[truth], 1, generator=generator).squeeze(1)
    inputs = torch.randn(900, 3, generator=generator) + 6 * F.one_hot(truth, 3)
    data = Dataset(inputs, given, ("a", "b", "c"))
    torch.manual_seed(0)
    model = nn.Linear(3, 3)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    trusted = META_SETS["lowest-loss"]()
    loss = LOSSES["cross-entropy"]
    setup = Setup(model, optimizer, data, trusted, loss, None, torch.Generator(), torch.device("cpu"))
    method = build("forward", setup, quantile=0.85)  # a class has a third of the samples
    assert isinstance(method, Forward)
    for epoch in range(31):
        method.start_epoch(epoch, warm_up=epoch < 30)
        for index in torch.randperm(900, generator=generator).split(100):
            method.step(data.batch(index))
    torch.testing.assert_close(torch.tensor(method.transition), torch.tensor(NOISE), rtol=0, atol=0.12)


def test_an_anchor_that_is_none_is_reported(caplog):
    rare = torch.tensor([[0.9, 0.1]] * 99 + [[0.2, 0.8]]).double()
    with caplog.at_level(logging.WARNING):
        estimate(rare, 0.97)
    assert (
        "classes 1 were estimated from are predicted as other classes; for a rare class raise method.quantile (0.97)"
        in caplog.text
    )
    caplog.clear()
    estimate(rare, 1.0)
    assert not caplog.text


def test_matrices_that_are_none(tiny, recipe):
    with pytest.raises(RecipeError, match=r"method\.transition: .*row 0 sums to 0\.9\. Row i is the distribution"):
        check(Contents("here", recipe(method={"name": "forward", "transition": [[0.5, 0.4], [0, 1]]}), []))
    right = check(Contents("here", recipe(method={"name": "forward", "transition": [[1, 0], [0, 1]]}), []))
    assert right.method.options["transition"] == ((1.0, 0.0), (0.0, 1.0))
    assert check(Contents("here", recipe(method={"name": "forward"}), [])).method.options["transition"] is None
    with pytest.raises(DataError, match=r"row 0 sums to 0\.9"):
        tiny("forward", transition=((0.5, 0.4), (0.0, 1.0)))
    with pytest.raises(RecipeError, match=r"method\.transition: 2 rows, but the data have 3 classes"):
        tiny("forward", transition=((1.0, 0.0), (0.0, 1.0)))
