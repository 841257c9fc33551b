import inspect

import pytest
import torch
from torch import nn

from reweigh.errors import RecipeError
from reweigh.training import OPTIMIZERS


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_every_option_is_keyword_only_and_typed(name):
    first, *options = inspect.signature(OPTIMIZERS[name]).parameters.values()
    assert first.name == "params"
    assert all(option.kind is inspect.Parameter.KEYWORD_ONLY for option in options)
    assert all(option.annotation is not inspect.Parameter.empty for option in options)


def one_step(optimizer: torch.optim.Optimizer, parameter: nn.Parameter) -> torch.Tensor:
    for _ in range(3):
        parameter.grad = parameter.detach() * 2 + 1
        optimizer.step()
    return parameter.detach().clone()


@pytest.mark.parametrize(
    ("name", "options", "reference"),
    [
        ("sgd", {"lr": 0.1, "momentum": 0.5, "weight_decay": 0.1, "nesterov": True}, torch.optim.SGD),
        ("adam", {"lr": 0.1, "betas": (0.5, 0.9), "eps": 1e-3, "weight_decay": 0.1}, torch.optim.Adam),
        ("adamw", {"lr": 0.1, "betas": (0.5, 0.9), "eps": 1e-3, "weight_decay": 0.1}, torch.optim.AdamW),
    ],
)
def test_options_reach_the_optimizer(name, options, reference):
    ours, theirs = nn.Parameter(torch.tensor([1.0, -2.0])), nn.Parameter(torch.tensor([1.0, -2.0]))
    optimizer = OPTIMIZERS[name]([ours], **options)
    assert bool(optimizer.param_groups[0]["fused"]) == (name != "sgd")
    # a fused kernel rounds in another order
    torch.testing.assert_close(one_step(optimizer, ours), one_step(reference([theirs], **options), theirs))


def test_nesterov_needs_momentum():
    with pytest.raises(RecipeError, match="momentum = 0"):
        OPTIMIZERS["sgd"]([nn.Parameter(torch.zeros(1))], momentum=0.0, nesterov=True)
