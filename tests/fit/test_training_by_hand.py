"""The trainer against the same parts put together by hand."""

import torch
from torch import nn

from reweigh.data import Dataset
from reweigh.fit.trainer import Trainer
from reweigh.methods import METHODS
from reweigh.plan.check import examine
from reweigh.plan.choose import Facts, chosen

G = torch.Generator().manual_seed(0)
X = torch.randn(20, 3, generator=G)
Y = (X[:, 0] > 0).long()
SAMPLES = Dataset(X, Y, ("a", "b"))


def linear(shape, classes):
    return nn.Linear(shape[0], classes)


def trainer(method, epochs, batch_size, lr, seed=0, trusted=None):
    given = {
        "method": {"name": method},
        "train": {"epochs": epochs, "batch_size": batch_size, "seed": seed},
        "optimizer": {"lr": lr},
    }
    if trusted is not None:
        given["meta_set"] = {"name": "clean", "path": "elsewhere"}
    plan, mistakes = examine(chosen(Facts.of(SAMPLES), given), passed=("data", "model"))
    assert plan is not None, mistakes
    return Trainer(plan, linear, torch.device("cpu"), trusted)


def test_plain_training_is_adamw_with_a_cosine():
    """Full batches, so that the order of samples does not matter."""
    trained = trainer("erm", 4, 20, 0.1, seed=3).train(SAMPLES)
    torch.manual_seed(3)
    model = nn.Linear(3, 2)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    for epoch in range(4):
        optimizer.param_groups[0]["lr"] = 0.1 * (1 + torch.cos(torch.tensor(torch.pi * epoch / 4)).item()) / 2
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(X), Y).backward()
        optimizer.step()
    assert torch.allclose(trained.method.model.weight, model.weight, atol=1e-5)
    assert [line["epoch"] for line in trained.history] == [1, 2, 3, 4]


def test_a_clean_set_is_what_is_trusted(monkeypatch):
    clean = SAMPLES.subset(torch.arange(4))
    setups = []

    class Spy(METHODS["cmw-net"]):
        def __init__(self, setup, **options):
            setups.append(setup)
            super().__init__(setup, **options)

    monkeypatch.setitem(METHODS, "cmw-net", Spy)
    for trusted in (clean, None):
        trainer("cmw-net", 2, 10, 0.01, trusted=trusted).train(SAMPLES)
    assert setups[0].clean_set is clean
    assert len(setups[0].meta_set.choose(clean.labels, None, G)) == 4
    assert setups[1].clean_set is None
    assert setups[1].meta_set.judge == "training"
