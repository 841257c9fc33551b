import pytest
import torch
from torch import nn

from reweigh.errors import ModelError
from reweigh.models.mlp import mlp


def kinds(model):
    return [type(layer).__name__ for layer in model]


def test_layers():
    block = ["Linear", "BatchNorm1d", "ReLU"]
    assert kinds(mlp((1, 28, 28), 10)) == ["Flatten", *block, *block, "Linear"]
    assert kinds(mlp((4,), 3, hidden=(8,), batch_norm=False, dropout=0.2)) == [
        "Flatten",
        *("Linear", "ReLU", "Dropout"),
        "Linear",
    ]
    assert kinds(mlp((4,), 3, hidden=())) == ["Flatten", "Linear"]


def test_number_of_parameters():
    """Inputs times outputs, two numbers a normalized unit, a bias a logit."""
    expected = 784 * 256 + 2 * 256 + 256 * 256 + 2 * 256 + 256 * 10 + 10
    assert sum(p.numel() for p in mlp((1, 28, 28), 10).parameters()) == expected


def test_a_linear_model_is_one():
    torch.manual_seed(0)
    model, inputs = mlp((2, 3), 4, hidden=()), torch.randn(5, 2, 3)
    layer = model[1]
    assert isinstance(layer, nn.Linear)
    torch.testing.assert_close(model(inputs), inputs.reshape(5, 6) @ layer.weight.T + layer.bias)


def test_no_values():
    with pytest.raises(ModelError, match=r"at least one value per sample, but got the shape \(3, 0\)"):
        mlp((3, 0), 2)


def test_with_a_skip_the_last_layer_gets_the_inputs_too():
    model = mlp((2, 3), 4, hidden=(5,), skip=True).eval()
    inputs = torch.randn(7, 2, 3)
    rows, last = inputs.flatten(1), model[-1]
    hidden = model[1][1](rows @ model[1][0].weight.T).relu()
    wanted = hidden @ last.weight[:, 6:11].T + rows @ last.weight[:, :6].T + last.bias
    torch.testing.assert_close(model(inputs), wanted)
    assert len(mlp((6,), 4, hidden=(), skip=True)) == 2  # it is linear anyhow
