"""Parts of a model, by name."""

import pytest
import torch
from torch import nn

from reweigh.core.rerun import last_layer, scoped
from reweigh.errors import ModelError
from reweigh.models import MODELS


def _scope(model: nn.Module, scope: str) -> set[str]:
    return set(scoped(model, torch.optim.SGD(model.parameters(), 0.1), scope))


def test_all_and_patterns() -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 2, bias=False))
    assert _scope(model, "all") == {"0.weight", "0.bias", "2.weight"}
    assert _scope(model, "*.bias") == {"0.bias"}
    assert _scope(model, "last-layer") == {"2.weight"}


def test_blocks_of_a_residual_net() -> None:
    model = MODELS["resnet32"]((3, 32, 32), 10)
    names = list(dict(model.named_parameters()))
    block = _scope(model, "last-block")
    assert block == set(names[-len(block) :])
    assert len(_scope(model, "last-layer")) == 2
    assert 2 < len(block) < 10


def test_blocks_of_a_transformer_and_of_plain_sequences() -> None:
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16), 2, enable_nested_tensor=False)
    assert all(name.startswith("layers.1.") for name in _scope(encoder, "last-block"))
    nested = nn.Sequential(nn.Sequential(nn.Linear(2, 2), nn.ReLU()), nn.Sequential(nn.Linear(2, 2)), nn.Linear(2, 2))
    assert _scope(nested, "last-block") == {"1.0.weight", "1.0.bias", "2.weight", "2.bias"}


def test_frozen_parameters_and_those_without_an_optimizer_stay_out() -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2), nn.Linear(2, 2))
    model[0].requires_grad_(False)
    optimizer = torch.optim.SGD(model[1].parameters(), 0.1)
    assert set(scoped(model, optimizer, "all")) == {"1.weight", "1.bias"}


def test_what_cannot_be_scoped() -> None:
    flat = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    with pytest.raises(ModelError, match="no list of blocks"):
        _scope(flat, "last-block")
    with pytest.raises(ModelError, match=r"matches no trained parameter.*'0\.weight'"):
        _scope(flat, "layer4.*")
    optimizer = torch.optim.SGD(flat.parameters(), 0.1)
    flat.requires_grad_(False)
    with pytest.raises(ModelError, match="no trainable parameters"):
        scoped(flat, optimizer, "all")


def test_the_last_layer_is_the_last_module_with_such_parameters() -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.ReLU(), nn.Linear(2, 3)), nn.Softmax(1))
    assert last_layer(model, dict(model.named_parameters())) == "1.1"
    assert last_layer(model, {"0.bias": model[0].bias}) == "0"
    for name in ("cnn", "resnet32", "preact-resnet18"):
        built = MODELS[name]((3, 32, 32), 7)
        layer = built.get_submodule(last_layer(built, dict(built.named_parameters())))
        assert isinstance(layer, nn.Linear)
        assert layer.out_features == 7
