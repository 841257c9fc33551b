"""When soft labels begin, decided by held-out samples whose predictions are made up here."""

from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from reweigh.data import Dataset
from reweigh.meta_sets import META_SETS
from reweigh.methods.parts.onset import Onset
from reweigh.methods.setup import Setup

CLASSES, EACH = 4, 1000


def _setup(wrong: float) -> Setup:
    """Samples that are their own true class; a share of the labels is wrong, in every direction."""
    truth = torch.arange(CLASSES).repeat(EACH)
    draw = torch.Generator().manual_seed(0)
    moved = (truth + torch.randint(1, CLASSES, truth.shape, generator=draw)) % CLASSES
    given = torch.where(torch.rand(len(truth), generator=draw) < wrong, moved, truth)
    data = Dataset(truth[:, None].float(), given, tuple("abcd"), true_labels=truth)
    model = nn.Linear(1, CLASSES)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    generator = torch.Generator().manual_seed(0)
    trusted = META_SETS["lowest-loss"](per_class=10)
    return Setup(model, optimizer, data, trusted, F.cross_entropy, None, generator, torch.device("cpu"))


class Right(nn.Module):
    """Is right about a share of the samples of each class, and surest where it is right."""

    def __init__(self, share: float):
        super().__init__()
        self.share = share

    def forward(self, inputs: Tensor) -> Tensor:
        truth = inputs[:, 0].long()
        rank = F.one_hot(truth, CLASSES).cumsum(0).gather(1, truth[:, None]).squeeze(1) - 1  # within the class
        right = rank < self.share * torch.bincount(truth, minlength=CLASSES)[truth]
        said = torch.where(right, truth, (truth + 1 + rank % (CLASSES - 1)) % CLASSES)
        return F.one_hot(said, CLASSES) * torch.where(right, 4.0, 2.0)[:, None]


def begins(wrong: float, shares: list[float], warm_up: int = 0, rates: list[float] | None = None) -> int | None:
    """The epoch with which soft labels begin, if the model is right about such shares; None if they never do."""
    setup = _setup(wrong)
    onset = Onset(setup)
    for epoch, share in enumerate(shares):
        if not onset.open:
            return None
        setup.optimizer.param_groups[0]["lr"] = rates[epoch] if rates else 0.1
        if onset.decides(Right(share), warm_up=epoch < warm_up):
            assert not onset.open
            return epoch
    return None


RISES_AND_FALLS = [0.5, 0.7, 0.85, 0.9, 0.85, 0.8, 0.75]


def test_they_begin_after_the_peak_of_a_model_that_is_better_than_the_labels():
    assert begins(0.4, RISES_AND_FALLS) == 5  # means over three epochs: .60 .68 .82 .87 .85 .83, best two ago


@pytest.mark.parametrize("wrong", [0.0, 0.02])
def test_right_labels_are_never_corrected(wrong):
    assert begins(wrong, RISES_AND_FALLS) is None


def test_a_model_that_is_worse_than_the_labels_corrects_none():
    assert begins(0.4, [0.3, 0.4, 0.45, 0.5, 0.45, 0.4, 0.4, 0.4]) is None


def test_a_model_that_still_gets_better_goes_on():
    assert begins(0.4, [0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95]) is None


def test_they_do_not_begin_in_the_warm_up():
    assert begins(0.4, [*RISES_AND_FALLS, 0.8], warm_up=7) == 7


def test_it_is_too_late_once_the_learning_rate_has_fallen_below_half():
    rates = [0.05, 0.1, 0.1, 0.08, 0.06, 0.05, 0.04]
    assert begins(0.4, RISES_AND_FALLS, rates=rates) == 5
    rates[5] = 0.049
    assert begins(0.4, RISES_AND_FALLS, rates=rates) is None


def test_a_tenth_of_each_class_is_held_out_until_the_decision():
    setup = _setup(0.4)
    onset = Onset(setup)
    batch = setup.train_set.batch(torch.arange(len(setup.train_set)))
    left = torch.bincount(onset.training(batch).labels) / torch.bincount(setup.train_set.labels)
    assert left.min() > 0.89
    assert left.max() < 0.91
    for share in RISES_AND_FALLS:
        if onset.open:
            onset.decides(Right(share), warm_up=False)
    assert torch.equal(onset.training(batch).index, batch.index)


def test_a_batch_of_which_hardly_anything_is_left_stays():
    onset = Onset(_setup(0.4))
    batch = onset._setup.train_set.batch(onset._judging[:5])
    assert len(onset.training(batch)) == 5


def test_small_classes_are_not_held_out_and_without_any_other_nothing_is_decided():
    setup = _setup(0.4)
    few = setup.train_set.subset(torch.arange(36))
    assert Onset(replace(setup, train_set=few)).open == bool((torch.bincount(few.labels) >= 10).any())
    assert not Onset(replace(setup, train_set=few.subset(torch.arange(20)))).open


def test_a_resumed_decision_is_the_same():
    setup = _setup(0.4)
    onset, other = Onset(setup), Onset(replace(setup, generator=torch.Generator().manual_seed(1)))
    for share in RISES_AND_FALLS[:5]:
        assert not onset.decides(Right(share), warm_up=False)
    other.load_state_dict(onset.state_dict())
    assert other.decides(Right(RISES_AND_FALLS[5]), warm_up=False)
    assert torch.equal(other._held_out, onset._held_out)
