"""Any classifier gets two more heads, and stays what it is."""

import copy

import pytest
import torch
from torch import nn
from torch.func import functional_call

from reweigh.errors import ModelError
from reweigh.models import build
from reweigh.models.selective import Heads, Ranked, SelectiveModel

SHAPES = {"mlp": (6,), "cnn": (1, 8, 8), "resnet32": (3, 16, 16), "vgg16-bn": (3, 32, 32)}


@pytest.mark.parametrize("name", SHAPES)
def test_it_wraps_models_and_predicts_what_they_do(name):
    torch.manual_seed(0)
    classifier = build(name, SHAPES[name], 4).eval()
    model = SelectiveModel(classifier).eval()
    inputs = torch.randn(3, *SHAPES[name])
    heads = model(inputs, heads=True)
    assert isinstance(heads, Heads)
    assert torch.equal(model(inputs), classifier(inputs))
    assert torch.equal(heads.logits, classifier(inputs))
    assert heads.selection.shape == (3,)
    assert heads.auxiliary.shape == (3, 4)
    kept = {key.removeprefix("classifier.") for key in model.state_dict() if key.startswith("classifier.")}
    assert kept == set(classifier.state_dict())


def test_the_heads_read_what_enters_the_last_layer():
    torch.manual_seed(0)
    body, last = nn.Sequential(nn.Linear(5, 7), nn.Tanh()), nn.Linear(7, 3)
    model = SelectiveModel(nn.Sequential(body, last)).eval()
    inputs = torch.randn(4, 5)
    features = body(inputs)
    first, rectified, normalized, final = model.selection
    by_hand = final(normalized(rectified(first(features)))).flatten()
    heads = model(inputs, heads=True)
    torch.testing.assert_close(heads.selection, by_hand)
    torch.testing.assert_close(heads.auxiliary, model.auxiliary(features))
    assert first.weight.shape == (7, 7)


def test_at_other_parameters_and_in_a_copy():
    torch.manual_seed(0)
    model = SelectiveModel(build("mlp", (6,), 3)).eval()
    other = copy.deepcopy(model)
    with torch.no_grad():
        for param in other.parameters():
            param.mul_(1.5)
    inputs = torch.randn(4, 6)
    moved = functional_call(model, dict(other.named_parameters()), (inputs,), {"heads": True})
    for ours, theirs in zip(moved, other(inputs, heads=True), strict=True):
        assert torch.equal(ours, theirs)


def test_the_score_stands_beside_the_logits():
    torch.manual_seed(0)
    classifier = build("mlp", (6,), 3).eval()
    inputs = torch.randn(4, 6)
    plain = Ranked(classifier)(inputs)
    assert torch.equal(plain[:, :3], classifier(inputs))
    torch.testing.assert_close(plain[:, 3].sigmoid(), classifier(inputs).softmax(1).amax(1))
    model = SelectiveModel(classifier).eval()
    assert torch.equal(Ranked(model)(inputs)[:, 3], model(inputs, heads=True).selection)
    model.ranks.fill_(False)
    again = SelectiveModel(build("mlp", (6,), 3)).eval()
    again.load_state_dict(model.state_dict())
    assert torch.equal(Ranked(again)(inputs), plain)


class Twice(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, inputs):
        return self.layer(self.layer(inputs))


@pytest.mark.parametrize(
    ("model", "message"),
    [(nn.Sequential(nn.Flatten(), nn.BatchNorm1d(3)), "its last layer is a BatchNorm1d"), (nn.ReLU(), "a ReLU")],
)
def test_a_model_without_a_linear_layer_at_its_end(model, message):
    with pytest.raises(ModelError, match=message):
        SelectiveModel(model)


def test_a_last_layer_that_reads_something_else():
    with pytest.raises(ModelError, match="one row of features per sample, once"):
        SelectiveModel(Twice())(torch.randn(2, 3), heads=True)
    with pytest.raises(ModelError, match="'softmax-response'"):
        SelectiveModel(nn.Linear(3, 2))(torch.randn(2, 5, 3), heads=True)
