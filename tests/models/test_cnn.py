import pytest
import torch
import torch.nn.functional as F
from torch import nn

from reweigh.models.cnn import cnn, he_normal


@pytest.mark.parametrize("shape", [(1, 8, 8), (1, 28, 28), (3, 32, 32), (1, 4, 9)])
def test_the_last_features(shape):
    model = cnn(shape, 10, width=4)
    features = model.features(torch.randn(2, *shape))
    assert features.shape == (2, 16, -(-shape[1] // 8), -(-shape[2] // 8))


def test_it_learns():
    """Vertical against horizontal stripes, in twenty steps."""
    torch.manual_seed(0)
    labels = torch.arange(64) % 2
    stripes = (torch.arange(8) % 2).float().expand(8, 8)
    inputs = torch.stack([stripes if label else stripes.T for label in labels])[:, None] + torch.randn(64, 1, 8, 8)
    model = cnn((1, 8, 8), 2, width=4)
    optimizer = torch.optim.Adam(model.parameters(), 0.02)
    for _ in range(20):
        optimizer.zero_grad()
        F.cross_entropy(model(inputs), labels).backward()
        optimizer.step()
    assert (model(inputs).argmax(1) == labels).float().mean() > 0.95


def test_spread_of_convolutions():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(8, 64, 3), nn.Linear(4, 4))
    linear = model[1].weight.clone()
    he_normal(model)
    assert model[0].weight.std().item() == pytest.approx((2 / (64 * 9)) ** 0.5, rel=0.05)
    assert model[0].weight.mean().item() == pytest.approx(0, abs=0.005)
    assert not model[0].bias.any()
    assert torch.equal(model[1].weight, linear)
