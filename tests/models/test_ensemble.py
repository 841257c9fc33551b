"""An ensemble averages probabilities, and keeps its shares when it is saved, copied and exported."""

import copy
import pickle

import pytest
import torch
from torch import nn

from reweigh.models.ensemble import Ensemble, strongest


@pytest.fixture
def ensemble():
    torch.manual_seed(0)
    return Ensemble([nn.Linear(4, 3) for _ in range(3)])


INPUTS = torch.randn(5, 4, generator=torch.Generator().manual_seed(0))


def test_the_first_alone_at_first(ensemble):
    assert torch.equal(ensemble(INPUTS), ensemble.members[0](INPUTS))


def test_the_mean_of_probabilities(ensemble):
    ensemble.share([0.25, 0.0, 0.75])
    first, _, last = (member(INPUTS).softmax(1) for member in ensemble.members)
    torch.testing.assert_close(ensemble(INPUTS).exp(), 0.25 * first + 0.75 * last)


def test_shares_are_saved_and_copied(ensemble):
    ensemble.share([0.5, 0.5])
    other = Ensemble.of(nn.Linear(4, 3), 3)
    other.load_state_dict(ensemble.state_dict())
    for same in (other, copy.deepcopy(ensemble), pickle.loads(pickle.dumps(ensemble))):
        assert torch.equal(same(INPUTS), ensemble(INPUTS))


def test_a_member_without_a_share_is_not_asked(ensemble):
    ensemble.share([0.5, 0.5])
    with torch.no_grad():
        ensemble.members[2].weight.fill_(torch.nan)
    assert ensemble(INPUTS).isfinite().all()


def test_the_strongest_member(ensemble):
    ensemble.share([0.2, 0.2, 0.6])
    found = strongest(ensemble.state_dict())
    assert found.keys() == {"weight", "bias"}
    assert torch.equal(found["weight"], ensemble.members[2].weight)
    assert strongest(found) is found
