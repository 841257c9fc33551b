"""Warm-up, and when a loop that owns its backward learns."""

import math
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from accelerate import Accelerator
from torch import Tensor, nn

from reweigh import Reweighter
from reweigh.errors import RecipeError
from reweigh.weighting import ClassAwareNet

N, CLASSES = 60, 3
LABELS = torch.arange(N) % CLASSES


def parts(**options: Any) -> tuple[nn.Module, torch.optim.Optimizer, Reweighter, Tensor]:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, CLASSES))
    optimizer = torch.optim.SGD(model.parameters(), 0.3, momentum=0.9)
    inputs = torch.randn(N, 4) + 2 * F.one_hot(LABELS, 4)
    return model, optimizer, Reweighter(model, optimizer, LABELS, **options), inputs


def test_a_warm_up_is_plain_training() -> None:
    model, _, reweighter, inputs = parts(warm_up=2)
    plain, optimizer, _, _ = parts()
    for number, batch in enumerate(torch.arange(N).repeat(2).split(20)):
        assert not reweighter.due, number
        step = reweighter.step(inputs[batch], LABELS[batch])  # no trusted data are needed
        assert bool((step.weights == 1).all())
        optimizer.zero_grad()
        F.cross_entropy(plain(inputs[batch]), LABELS[batch]).backward()
        optimizer.step()
    torch.testing.assert_close(model.state_dict(), plain.state_dict())
    assert reweighter.due
    assert bool((reweighter.step(inputs, LABELS, inputs, LABELS).weights < 1).all())


def test_a_loop_that_owns_its_backward_warms_up_too() -> None:
    _, _, reweighter, inputs = parts(warm_up=0.5)
    losses = torch.rand(20)
    assert reweighter.learn((inputs, LABELS), (inputs, LABELS)) is None
    assert reweighter.weigh(losses, LABELS[:20]).tolist() == [1.0] * 20
    reweighter.weigh(losses, LABELS[:20])
    assert bool((reweighter.weigh(losses, LABELS[:20]) < 1).all())
    assert reweighter.learn((inputs, LABELS), (inputs, LABELS)) is not None


def trusting_what_is_learned(num_families: int = 1) -> nn.Module:
    """A curve as training ends with it: all weight to small losses."""
    points = torch.linspace(0, 5, 50)
    return ClassAwareNet.following(lambda losses: (2 - 4 * losses).sigmoid(), points, num_families)


def test_a_transferred_function_waits_until_losses_have_left_chance() -> None:
    _, _, reweighter, inputs = parts(weighting=trusting_what_is_learned())
    means, all_one = [], []
    for _ in range(12):
        step = reweighter.step(inputs, LABELS)
        means.append(float(step.losses.mean()))
        all_one.append(bool((step.weights == 1).all()))
    change = all_one.index(False)
    running = means[0]
    for mean in means[1:change]:
        assert running >= 0.75 * math.log(CLASSES)
        running = 0.9 * running + 0.1 * mean
    assert change == 5 or running < 0.75 * math.log(CLASSES)  # five epochs at most
    assert not any(all_one[change:])


def test_an_objective_of_ones_own_has_no_automatic_warm_up() -> None:
    from reweigh.core.objective import reweighted

    _, _, reweighter, inputs = parts(weighting=trusting_what_is_learned())
    objective = reweighted(lambda outputs, labels: F.cross_entropy(outputs, labels, reduction="none"), inputs, LABELS)
    assert bool((reweighter.step_on(objective, LABELS).weights < 1).all())


def test_a_resumed_warm_up_goes_on() -> None:
    _, _, whole, _ = parts(warm_up=1, every=3)
    _, _, again, _ = parts(warm_up=1, every=3)
    whole.weigh(torch.rand(40), LABELS[:40])
    again.load_state_dict(whole.state_dict())
    assert not again.due
    again.weigh(torch.rand(20), LABELS[:20])
    assert again.due


@pytest.mark.parametrize("epochs", [-1, math.nan, math.inf])
def test_a_warm_up_of_no_length(epochs: float) -> None:
    with pytest.raises(RecipeError, match=r"warm_up = .*: should be a number of epochs"):
        parts(warm_up=epochs)


def test_learns_once_in_every_steps_of_the_optimizer() -> None:
    model, optimizer, reweighter, inputs = parts(every=2)
    learned = []
    for number, batch in enumerate(torch.arange(N).repeat(4).split(20)):  # three batches in each step
        if reweighter.due:
            reweighter.learn((inputs[batch], LABELS[batch]), (inputs, LABELS))
            learned.append(number)
        F.cross_entropy(model(inputs[batch]), LABELS[batch]).backward()
        if number % 3 == 2:
            optimizer.step()
            optimizer.zero_grad()
    assert learned == [0, 6]


def test_a_prepared_optimizer_is_followed_by_its_own_rule(caplog: pytest.LogCaptureFixture) -> None:
    found = []
    for prepared in (False, True):
        model, optimizer, _, inputs = parts()
        if prepared:
            model, optimizer = Accelerator(cpu=True).prepare(model, optimizer)
        torch.manual_seed(1)
        reweighter = Reweighter(model, optimizer, LABELS, every=1)
        for _ in range(3):
            reweighter.step(inputs, LABELS, inputs, LABELS)
        found.append(reweighter.weight_net.state_dict())
    torch.testing.assert_close(found[0], found[1], rtol=0, atol=0)
    assert "is not known" not in caplog.text


@pytest.mark.parametrize(("sizes", "families"), [((20, 20, 20), 1), ((18, 20, 22), 1), ((60, 300, 900), 3)])
def test_families_only_where_sizes_differ_by_more_than_chance(sizes: tuple[int, ...], families: int) -> None:
    model = nn.Linear(4, CLASSES)
    labels = torch.arange(CLASSES).repeat_interleave(torch.tensor(sizes))
    reweighter = Reweighter(model, torch.optim.SGD(model.parameters(), 0.1), labels)
    assert reweighter.families.num_families == families
