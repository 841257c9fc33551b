import pytest
import torch
from torch import nn

from reweigh.models.images import he_normal


def test_spread_of_convolutions():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(8, 64, 3), nn.Linear(4, 4))
    linear = model[1].weight.clone()
    he_normal(model)
    assert model[0].weight.std().item() == pytest.approx((2 / (64 * 9)) ** 0.5, rel=0.05)
    assert model[0].weight.mean().item() == pytest.approx(0, abs=0.005)
    assert not model[0].bias.any()
    assert torch.equal(model[1].weight, linear)
