"""A cosine head on any model: its logits by a loop, and in a recipe."""

import pytest
import torch
from torch import nn

from reweigh.errors import ModelError
from reweigh.models import build
from reweigh.models.last_layer import CosineLinear, with_cosine_head
from reweigh.plan.check import examine


def test_logits_by_a_loop():
    torch.manual_seed(0)
    head = with_cosine_head(nn.Linear(5, 3), scale=7.0)
    rows = torch.randn(4, 5)
    for row, logits in zip(rows, head(rows), strict=True):
        expected = [7 * torch.cosine_similarity(row, each, dim=0) for each in head.get_parameter("weight")]
        torch.testing.assert_close(logits, torch.stack(expected))


@pytest.mark.parametrize("name", ["mlp", "cnn", "resnet32", "preact-resnet18"])
def test_for_every_model(name):
    model = build(name, (3, 8, 8), 4, logits="cosine")
    assert model(torch.randn(2, 3, 8, 8)).abs().max() <= 30
    assert [type(module) for module in model.modules() if isinstance(module, nn.Linear)][-1] is CosineLinear
    assert with_cosine_head(model) is model


def test_the_scale_is_stored_with_the_weights():
    narrow, wide = with_cosine_head(nn.Linear(5, 3), scale=7.0), with_cosine_head(nn.Linear(5, 3))
    wide.load_state_dict(narrow.state_dict())
    rows = torch.randn(4, 5)
    torch.testing.assert_close(narrow(rows), wide(rows))


def test_a_model_without_a_linear_layer_at_its_end():
    with pytest.raises(ModelError, match="a cosine head needs a model that ends in a linear layer"):
        with_cosine_head(nn.Sequential(nn.Linear(5, 3), nn.BatchNorm1d(3)))


def test_in_a_recipe():
    values = {
        "data": {"name": "digits"},
        "method": {"name": "erm"},
        "optimizer": {"name": "sgd"},
        "train": {"epochs": 1},
    }
    plan, mistakes = examine({**values, "model": {"name": "mlp", "logits": "cosine"}})
    assert plan is not None, mistakes
    plan, mistakes = examine({**values, "model": {"name": "mlp", "logits": "cosines"}})
    assert "model.logits" in str(mistakes)
