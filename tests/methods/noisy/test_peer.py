"""A second network that does not fit is refused with sizes."""

from contextlib import nullcontext
from functools import partial

import pytest
import torch
from torch import nn
from torch.optim import SGD, AdamW

from reweigh.errors import ModelError
from reweigh.memory import free_memory
from reweigh.methods.noisy.two_networks import check_room


def test_free_memory_is_what_the_system_says():
    free = free_memory()
    assert free is None or free > 2**20


@pytest.mark.parametrize(
    ("optimizer", "parts"),  # the second network; a gradient, and what the optimizer keeps, twice
    [(partial(SGD, lr=0.1), 3), (partial(SGD, lr=0.1, momentum=0.9), 5), (AdamW, 7)],
)
def test_what_two_networks_take(monkeypatch, optimizer, parts):
    model = nn.Linear(4, 3)
    optimizer = optimizer(model.parameters())
    for missing in (0, 1):
        monkeypatch.setattr(
            "reweigh.methods.noisy.two_networks.free_memory", lambda _, less=missing: parts * 15 * 4 - less
        )
        with pytest.raises(ModelError) if missing else nullcontext():
            check_room(model, optimizer, torch.device("cpu"))


@pytest.mark.parametrize("method", ["dividemix", "elr+", "co-teaching", "decoupling"])
def test_two_networks_that_do_not_fit(tiny, monkeypatch, method):
    needed = 3 * 15 * 8  # a network of fifteen parameters in double precision, and the gradients of two
    monkeypatch.setattr("reweigh.methods.noisy.two_networks.free_memory", lambda device: needed)
    tiny(method)
    monkeypatch.setattr("reweigh.methods.noisy.two_networks.free_memory", lambda device: needed - 1)
    with pytest.raises(ModelError, match=r"two networks.* take 0\.0 GB, and 0\.0 GB are free"):
        tiny(method)
