"""The look-ahead step against torch's own optimizers."""

import logging

import pytest
import torch
from torch import nn

from reweigh.core.update import LookAhead, Update

MADE = {
    "sgd": lambda p: torch.optim.SGD(p, 0.1),
    "momentum": lambda p: torch.optim.SGD(p, 0.1, momentum=0.9, dampening=0.3, weight_decay=0.1),
    "nesterov": lambda p: torch.optim.SGD(p, 0.1, momentum=0.9, nesterov=True),
    "maximize": lambda p: torch.optim.SGD(p, 0.1, momentum=0.9, maximize=True),
    "adam": lambda p: torch.optim.Adam(p, 0.1, weight_decay=0.1),
    "amsgrad": lambda p: torch.optim.Adam(p, 0.1, amsgrad=True, maximize=True),
    "adamw": lambda p: torch.optim.AdamW(p, 0.1, weight_decay=0.1, betas=(0.8, 0.9)),
    "adam with decoupled decay": lambda p: torch.optim.Adam(p, 0.1, weight_decay=0.1, decoupled_weight_decay=True),
    "tensor lr": lambda p: torch.optim.SGD(p, torch.tensor(0.1, dtype=torch.float64)),
}


def _param() -> nn.Parameter:
    return nn.Parameter(torch.linspace(-1, 1, 5, dtype=torch.float64))


@pytest.mark.parametrize("steps", [0, 1, 3])
@pytest.mark.parametrize("name", MADE)
def test_the_same_step_as_torch(name: str, steps: int) -> None:
    param = _param()
    optimizer = MADE[name]([param])
    torch.manual_seed(0)
    for _ in range(steps):
        param.grad = torch.randn(5, dtype=torch.float64)
        optimizer.step()
    param.grad = torch.randn(5, dtype=torch.float64)
    state = {key: torch.as_tensor(value).clone() for key, value in optimizer.state[param].items()}
    ahead = LookAhead(Update(optimizer, {"p": param}), {"p": param}, {"p": param.grad}).params()["p"]
    assert all(torch.equal(torch.as_tensor(optimizer.state[param][key]), value) for key, value in state.items())
    optimizer.step()
    torch.testing.assert_close(ahead, param.detach(), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", MADE)
def test_pull_back_against_finite_differences_of_torchs_step(name: str) -> None:
    def after(grad: torch.Tensor) -> torch.Tensor:
        param = _param()
        optimizer = MADE[name]([param])
        for g in (torch.linspace(1, 2, 5, dtype=torch.float64), grad):
            param.grad = g
            optimizer.step()
        return param.detach().clone()

    param = _param()
    optimizer = MADE[name]([param])
    param.grad = torch.linspace(1, 2, 5, dtype=torch.float64)
    optimizer.step()
    grad = torch.linspace(0.5, -1, 5, dtype=torch.float64)
    vector = torch.linspace(3, 4, 5, dtype=torch.float64)
    direction, factor = LookAhead(Update(optimizer, {"p": param}), {"p": param}, {"p": grad}).pull_back({"p": vector})
    slow = torch.stack([vector @ (after(grad + h) - after(grad - h)) / 2e-6 for h in 1e-6 * torch.eye(5).double()])
    torch.testing.assert_close(factor * direction["p"], slow, rtol=1e-6, atol=1e-9)


def test_adams_first_step_is_smooth_where_a_gradient_is_zero() -> None:
    param = _param()
    update = Update(torch.optim.Adam([param], 0.1), {"p": param})
    ahead = LookAhead(update, {"p": param}, {"p": torch.zeros(5, dtype=torch.float64)})
    assert ahead.pull_back({"p": torch.ones(5, dtype=torch.float64)})[0]["p"].isfinite().all()


def test_an_unknown_optimizer_takes_a_plain_step_and_says_so_once(caplog: pytest.LogCaptureFixture) -> None:
    param = _param()
    with caplog.at_level(logging.WARNING):
        update = Update(torch.optim.RMSprop([param], 0.25), {"p": param})
        for _ in range(3):
            ahead = LookAhead(update, {"p": param}, {"p": torch.ones(5, dtype=torch.float64)})
    assert len(caplog.records) == 1
    assert "RMSprop" in caplog.text
    torch.testing.assert_close(ahead.params()["p"], param.detach() - 0.25)
