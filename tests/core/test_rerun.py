"""A repeated forward leaves no trace."""

import torch
from torch import nn

from reweigh.core.rerun import Randomness, Rerun, unwrapped

CPU = torch.device("cpu")


def _model() -> nn.Sequential:
    return nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 3))


def test_repeats_a_forward_exactly_and_moves_nothing() -> None:
    torch.manual_seed(0)
    model, inputs = _model(), torch.randn(10, 6)
    again = Rerun(model, Randomness.now(CPU))
    expected = model(inputs)
    buffers = {name: buffer.clone() for name, buffer in model.named_buffers()}
    generator = torch.get_rng_state()
    for _ in range(2):
        found = again(lambda forward: forward(inputs), dict(model.named_parameters()))
        assert torch.equal(found, expected)
    assert all(torch.equal(buffer, buffers[name]) for name, buffer in model.named_buffers())
    assert torch.equal(torch.get_rng_state(), generator)


def test_a_drawn_randomness_differs_each_time_and_follows_the_global_seed() -> None:
    torch.manual_seed(0)
    first, second = Randomness.drawn(CPU), Randomness.drawn(CPU)
    torch.manual_seed(0)
    assert torch.equal(Randomness.drawn(CPU).cpu, first.cpu)
    assert not torch.equal(first.cpu, second.cpu)


def test_buffers_that_a_forward_changes_start_as_they_were() -> None:
    class Counting(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(()))
            self.register_buffer("calls", torch.zeros(()))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.calls += 1
            return self.weight * x * self.calls

    model = Counting()
    again = Rerun(model, Randomness.now(CPU))
    expected = model(torch.ones(()))
    assert again(lambda forward: forward(torch.ones(())), {}) == expected
    assert model.calls == 1


def test_wrappers_come_off() -> None:
    model = _model()
    assert unwrapped(model) is model
    assert unwrapped(nn.DataParallel(model)) is model
    assert unwrapped(torch.compile(model, backend="eager")) is model
