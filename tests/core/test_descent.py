"""Steps with a scaled loss are those without, as far as numbers in half precision allow."""

import pytest
import torch
from torch import nn
from torch.amp.grad_scaler import GradScaler

from reweigh import Reweighter
from reweigh.core.descent import descend, gradient, scaled

LABELS = torch.arange(12) % 3
INPUTS = torch.randn(12, 4, generator=torch.Generator().manual_seed(0))


def learned(scaler: GradScaler | None, engine: str, lookahead: str) -> list[torch.Tensor]:
    """The parameters of a network and of its weight net after some steps, in single precision."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 3))
    optimizer = torch.optim.SGD(model.parameters(), 0.5, momentum=0.9)
    reweighter = Reweighter(model, optimizer, LABELS, every=2, engine=engine, lookahead=lookahead)
    with scaled(scaler):
        for _ in range(4):
            reweighter.step(INPUTS, LABELS, INPUTS[:6], LABELS[:6])
    return [param.detach() for param in (*model.parameters(), *reweighter.weight_net.parameters())]


@pytest.mark.parametrize("lookahead", ["virtual", "real"])
@pytest.mark.parametrize("engine", ["forward", "difference", "unrolled"])
def test_a_scale_changes_nothing_where_there_is_room(engine: str, lookahead: str) -> None:
    scaler = GradScaler("cpu", init_scale=2.0**12)
    torch.testing.assert_close(learned(scaler, engine, lookahead), learned(None, engine, lookahead))
    assert scaler.get_scale() == 2**12


def test_gradients_too_small_for_half_precision_arrive() -> None:
    weight = torch.ones(3, requires_grad=True)

    def loss() -> torch.Tensor:
        return (weight.half() * 1e-4).float().sum() * 1e-4  # 1e-8 is less than the least number in fp16

    assert not gradient(loss(), [weight])[0].any()
    optimizer = torch.optim.SGD([weight], 1e6)
    with scaled(GradScaler("cpu", init_scale=2.0**16)):
        (found,) = gradient(loss(), [weight])
        descend(loss(), optimizer)
    torch.testing.assert_close(found, torch.full((3,), 1e-8), rtol=1e-3, atol=0)
    torch.testing.assert_close(weight.detach(), torch.full((3,), 0.99), rtol=1e-4, atol=0)


def test_a_step_that_overflows_is_left_out_and_the_next_scale_is_lower() -> None:
    torch.manual_seed(0)
    model = nn.Linear(4, 3)
    reweighter = Reweighter(model, torch.optim.SGD(model.parameters(), 0.1), LABELS, every=1)
    before = [param.detach().clone() for param in (*model.parameters(), *reweighter.weight_net.parameters())]
    scaler = GradScaler("cpu", init_scale=2.0**127)
    with scaled(scaler), torch.autocast("cpu", torch.float16):
        reweighter.step(INPUTS, LABELS, INPUTS, LABELS)
    after = [param.detach() for param in (*model.parameters(), *reweighter.weight_net.parameters())]
    torch.testing.assert_close(after, before, rtol=0, atol=0)
    assert scaler.get_scale() == 2**126
