"""The Pi-model and Mean Teacher against their formulas, and what tells two looks apart."""

from math import exp

import pytest
import torch
from torch import Tensor, nn

NOISE = torch.linspace(-0.3, 0.4, 16).view(1, 1, 4, 4)


def _noisy(it) -> Tensor:
    """Give the setup a transform without randomness; returns the second view."""
    object.__setattr__(it.setup, "augment", lambda images, generator: images + NOISE)
    return it.batch.inputs + NOISE.double()


def _expected(it, second: Tensor, other: nn.Module | None, factor: float) -> list[Tensor]:
    def loss(model):
        total = it.setup.loss(model(it.labeled.inputs), it.labeled.labels).mean()
        for x, y in zip(it.batch.inputs, second, strict=True):
            p, q = model(x[None])[0].softmax(0), (other or model)(y[None])[0].softmax(0)
            total = total + factor * sum((p[c] - (q[c].detach() if other else q[c])) ** 2 for c in range(3)) / 3 / 12
        return total

    return it.expected(loss)


def test_a_step_of_the_pi_model(few):
    it = few("pi-model", factor=20.0, ramp_epochs=4).fixed()
    second = _noisy(it)
    it.method.start_epoch(1, warm_up=False)
    expected = _expected(it, second, None, 20.0 * exp(-5 * (3 / 4) ** 2))
    it.step()
    it.check(expected)


def test_a_step_of_mean_teacher(few):
    it = few("mean-teacher", factor=20.0, ramp_epochs=4).fixed()
    second = _noisy(it)
    it.step()
    it.method.start_epoch(1, warm_up=False)
    expected = _expected(it, second, it.method.model, 20.0 * exp(-5 * (3 / 4) ** 2))
    it.step()
    it.check(expected)


def test_a_look_leaves_the_teacher_as_it_is(few):
    it = few("mean-teacher")
    teacher = nn.Sequential(nn.Flatten(), nn.Linear(16, 3), nn.BatchNorm1d(3)).double()
    it.method._average.model = teacher
    before = {name: value.clone() for name, value in teacher.state_dict().items()}
    predicted = it.method._second(it.batch.inputs)
    torch.testing.assert_close(predicted, teacher.train()(it.batch.inputs).softmax(1))
    teacher.load_state_dict(before)
    it.method._second(it.batch.inputs)
    for name, value in teacher.state_dict().items():
        assert torch.equal(value, before[name])


@pytest.mark.parametrize("name", ["pi-model", "mean-teacher"])
def test_without_noise_two_looks_of_the_same_model_agree(few, name):
    it, plain = few(name).fixed(), few("labeled-only").fixed()
    it.step()
    plain.step()
    it.check([p.detach() for p in plain.model.parameters()])
