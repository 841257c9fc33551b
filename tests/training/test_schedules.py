import inspect
import warnings

import pytest
import torch
from torch import nn
from torch.optim import SGD
from torch.optim.lr_scheduler import CosineAnnealingLR, CosineAnnealingWarmRestarts, MultiStepLR

from reweigh.training import SCHEDULES

EPOCHS = 40


def two_groups() -> SGD:
    return SGD(
        [{"params": [nn.Parameter(torch.zeros(1))], "lr": 0.2}, {"params": [nn.Parameter(torch.zeros(1))]}], lr=3.0
    )


def rates(optimizer: SGD) -> list[float]:
    return [group["lr"] for group in optimizer.param_groups]


@pytest.mark.parametrize(
    ("name", "options", "reference"),
    [
        ("step", {"milestones": (10, 25), "factor": 0.5}, lambda o: MultiStepLR(o, [10, 25], 0.5)),
        ("cosine", {}, lambda o: CosineAnnealingLR(o, EPOCHS)),
        ("cosine-restarts", {"first": 7}, lambda o: CosineAnnealingWarmRestarts(o, 7)),
        ("cosine-restarts", {"first": 3, "factor": 2}, lambda o: CosineAnnealingWarmRestarts(o, 3, 2)),
    ],
)
def test_same_rates_as_torch(name, options, reference):
    ours, theirs = two_groups(), two_groups()
    schedule = SCHEDULES[name](ours, EPOCHS, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the reference wants optimizer steps between its own
        torch_schedule = reference(theirs)
        for epoch in range(EPOCHS):
            assert schedule.start_epoch(epoch) == pytest.approx(rates(theirs)[0], abs=1e-12)
            assert rates(ours) == pytest.approx(rates(theirs), abs=1e-12)
            torch_schedule.step()


def test_floor_is_a_share_of_each_rate():
    optimizer = two_groups()
    schedule = SCHEDULES["cosine"](optimizer, EPOCHS, floor=0.1)
    schedule.start_epoch(0)
    assert rates(optimizer) == [0.2, 3.0]
    schedule.start_epoch(EPOCHS // 2)
    assert rates(optimizer) == pytest.approx([0.11, 1.65])
    schedule.start_epoch(EPOCHS)
    assert rates(optimizer) == pytest.approx([0.02, 0.3])


def test_the_first_seven_sixteenths_of_half_a_turn():
    optimizer = two_groups()
    schedule = SCHEDULES["cosine-7-16"](optimizer, EPOCHS)
    assert schedule.start_epoch(0) == 0.2
    # cos(7 pi / 32) and cos(7 pi / 16), from a table
    assert schedule.start_epoch(EPOCHS // 2) == pytest.approx(0.2 * 0.7730104534)
    assert schedule.start_epoch(EPOCHS) == pytest.approx(0.2 * 0.1950903220)


def test_constant():
    optimizer = two_groups()
    schedule = SCHEDULES["constant"](optimizer, EPOCHS)
    assert [schedule.start_epoch(epoch) for epoch in (0, 7, 39)] == [0.2, 0.2, 0.2]


@pytest.mark.parametrize("name", SCHEDULES)
def test_an_epoch_needs_no_epoch_before_it(name):
    given = {"milestones": (5,), "first": 4}
    wanted = inspect.signature(SCHEDULES[name]).parameters
    schedule = SCHEDULES[name](two_groups(), EPOCHS, **{key: given[key] for key in given if key in wanted})
    in_order = [schedule.start_epoch(epoch) for epoch in range(EPOCHS)]
    assert [schedule.start_epoch(epoch) for epoch in reversed(range(EPOCHS))] == in_order[::-1]
