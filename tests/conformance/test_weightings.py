"""Every weighting function and every family rule, in a step."""

import copy

import pytest
import torch
from torch import nn

from reweigh import Reweighter
from reweigh.families import by_size
from reweigh.weighting import WEIGHTINGS

LABELS = torch.tensor([0] * 14 + [1] * 7 + [2] * 3)
INPUTS = torch.randn(24, 5, generator=torch.Generator().manual_seed(0))
TRUSTED = torch.randn(9, 5, generator=torch.Generator().manual_seed(1)), torch.arange(9) % 3


def _reweighter(name: str) -> Reweighter:
    torch.manual_seed(0)
    model = nn.Linear(5, 3)
    return Reweighter(model, torch.optim.SGD(model.parameters(), 0.1), LABELS, weight_net=name, every=2, hidden=7)


@pytest.mark.parametrize("name", WEIGHTINGS)
def test_a_weighting_function_gives_every_sample_a_weight_and_can_be_resumed(name: str) -> None:
    reweighter = _reweighter(name)
    first = reweighter.step(INPUTS, LABELS, *TRUSTED)
    second = reweighter.step(INPUTS, LABELS)
    for step in (first, second):
        assert step.weights.shape == (24,)
        assert step.weights.isfinite().all()
        assert (step.weights >= 0).all()
    assert first.meta_loss is not None
    resumed = _reweighter(name)
    resumed.model.load_state_dict(reweighter.model.state_dict())
    resumed.load_state_dict(copy.deepcopy(reweighter.state_dict()))
    steps = [each.step(INPUTS, LABELS, *TRUSTED) for each in (reweighter, resumed)]
    assert torch.equal(steps[0].weights, steps[1].weights)


def test_families_sort_every_class_the_rarest_first() -> None:
    for sizes in ([5, 5, 5], [100, 3, 20, 18], [0, 7, 1]):
        families = by_size(torch.tensor(sizes), 3)
        assert families.of_class.shape == (len(sizes),)
        assert families.centers.tolist() == sorted(families.centers.tolist())
        assert 0 <= families.of_class.min() <= families.of_class.max() < families.num_families <= 3
