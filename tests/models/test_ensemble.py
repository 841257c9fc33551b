"""An ensemble averages probabilities, and keeps its shares when it is saved, copied and exported."""

import copy
import pickle

import torch
from torch import nn

from reweigh.models.ensemble import Ensemble, rebuilt, strongest


def ensemble(*shares):
    torch.manual_seed(0)
    return Ensemble([nn.Linear(4, 3) for _ in range(3)], shares or None)


INPUTS = torch.randn(5, 4, generator=torch.Generator().manual_seed(0))


def test_the_mean_of_probabilities():
    mixed = ensemble(0.25, 0.15, 0.6)
    parts = [share * member(INPUTS).softmax(1) for share, member in zip((0.25, 0.15, 0.6), mixed.members, strict=True)]
    torch.testing.assert_close(mixed(INPUTS).exp(), sum(parts))
    even = ensemble()
    torch.testing.assert_close(even(INPUTS).exp(), sum(member(INPUTS).softmax(1) / 3 for member in even.members))
    torch.testing.assert_close(even.each(INPUTS)[:, 1], even.members[1](INPUTS))


def test_a_single_member_keeps_its_logits():
    alone = Ensemble([nn.Linear(4, 3)])
    assert torch.equal(alone(INPUTS), alone.members[0](INPUTS))


def test_shares_are_saved_and_copied():
    mixed = ensemble(0.5, 0.5, 0.0)
    again = rebuilt(mixed.state_dict(), lambda: nn.Linear(4, 3))
    again.load_state_dict(mixed.state_dict())
    for same in (again, copy.deepcopy(mixed), pickle.loads(pickle.dumps(mixed))):
        assert torch.equal(same(INPUTS), mixed(INPUTS))


def test_the_strongest_member():
    mixed = ensemble(0.2, 0.2, 0.6)
    found = strongest(mixed.state_dict())
    assert found.keys() == {"weight", "bias"}
    assert torch.equal(found["weight"], mixed.members[2].weight)
    assert strongest(found) is found
