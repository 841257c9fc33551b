"""The trainer against the same parts put together by hand."""

import torch
from reweigh.estimator.trainer import Trainer
from torch import nn

from reweigh.data import Dataset
from reweigh.methods import METHODS

G = torch.Generator().manual_seed(0)
X = torch.randn(20, 3, generator=G)
Y = (X[:, 0] > 0).long()


def linear(shape, classes):
    return nn.Linear(shape[0], classes)


def test_plain_training_is_adamw_with_a_cosine():
    """Full batches, so that the order of samples does not matter."""
    trainer = Trainer(linear, METHODS["erm"], 4, 20, 0.1, seed=3, device=torch.device("cpu"))
    trained = trainer.train(Dataset(X, Y, ("a", "b")))
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


def test_a_clean_set_is_what_is_trusted():
    clean = Dataset(X[:4], Y[:4], ("a", "b"))
    setups = []

    def spy(setup):
        setups.append(setup)
        return METHODS["cmw-net"](setup)

    for given in (clean, None):
        Trainer(linear, spy, 2, 10, 0.01, 0, torch.device("cpu"), given).train(Dataset(X, Y, ("a", "b")))
    assert setups[0].clean_set is clean
    assert len(setups[0].meta_set.choose(clean.labels, None, G)) == 4
    assert setups[1].clean_set is None
    assert setups[1].meta_set.judge == "training"
