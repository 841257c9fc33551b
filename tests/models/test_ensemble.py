"""An ensemble averages probabilities, and keeps its shares when it is saved, copied and exported."""

import copy
import pickle

import pytest
import torch
from torch import nn

from reweigh.models import build
from reweigh.models.ensemble import Ensemble, Stack, rebuilt, side_by_side, strongest
from reweigh.models.mlp import Beside


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


def perceptron(norm, bias=True):
    layers = [nn.Flatten(), nn.Linear(6, 8, bias=bias), nn.BatchNorm1d(8) if norm else nn.Identity(), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(8, 5), nn.Tanh(), nn.Linear(5, 3))


CASES = {
    "with norm": (lambda: perceptron(norm=True), lambda n: torch.randn(n, 6)),
    "without": (lambda: perceptron(norm=False), lambda n: torch.randn(n, 2, 3)),
    "without a bias": (lambda: perceptron(norm=True, bias=False), lambda n: torch.randn(n, 6)),
    "of the package": (lambda: build("mlp", (6,), 3, hidden=(9, 7)), lambda n: torch.randn(n, 6)),
    "with a skip": (lambda: build("mlp", (6,), 3, hidden=(9, 7), skip=True), lambda n: torch.randn(n, 6)),
}


@pytest.mark.parametrize("case", CASES)
def test_trained_side_by_side_or_one_by_one(case):
    torch.manual_seed(0)
    fresh, draw = CASES[case]
    networks = [fresh().double() for _ in range(3)]
    for network in networks:  # random numbers of dropout differ
        for layer in network.modules():
            if isinstance(layer, nn.Dropout):
                layer.p = 0.0
    stack, slow = side_by_side(networks), Ensemble(networks)
    assert isinstance(stack, Stack)
    optimizers = [torch.optim.SGD(model.parameters(), 0.1, momentum=0.9) for model in (stack, slow)]
    for _ in range(5):
        inputs, labels = draw(16).double(), torch.randint(3, (16,))
        for model, optimizer in zip((stack, slow), optimizers, strict=True):
            losses = nn.functional.cross_entropy(model.each(inputs).flatten(0, 1), labels.repeat_interleave(3))
            optimizer.zero_grad()
            (losses * 3).backward()
            optimizer.step()
    inputs = draw(7).double()
    torch.testing.assert_close(stack.eval()(inputs), slow.eval()(inputs))
    for ours, theirs in zip(stack.networks(), slow.networks(), strict=True):
        for name, value in ours.state_dict().items():
            torch.testing.assert_close(value, theirs.state_dict()[name])


def hooked():
    network = perceptron(norm=False)
    network[1].register_forward_hook(lambda *_: None)
    return network


@pytest.mark.parametrize(
    "fresh",
    [
        lambda: nn.Sequential(nn.Conv2d(1, 2, 3), nn.Flatten(), nn.Linear(8, 3)),
        lambda: nn.Sequential(nn.BatchNorm1d(6), nn.Linear(6, 3)),
        hooked,
        lambda: perceptron(norm=True).requires_grad_(False),
        lambda: nn.Linear(6, 3),
        lambda: nn.Sequential(nn.Linear(6, 6), Beside(nn.Linear(6, 4)), nn.Linear(12, 3)),
    ],
)
def test_other_networks_stay_as_they_are(fresh):
    assert isinstance(side_by_side([fresh() for _ in range(2)]), Ensemble)
