"""Networks of the user's own, by name, and by default."""

from copy import deepcopy
from functools import partial

import numpy as np
import pytest
import torch
from torch import nn

from reweigh import ModelError
from reweigh.models import MODELS


class Own(nn.Module):
    """A class that is called with the shape of a sample and the number of classes."""

    def __init__(self, input_shape, num_classes):
        super().__init__()
        self.layer = nn.Linear(input_shape[0], num_classes)

    def forward(self, inputs):
        return self.layer(inputs)


def factory(input_shape, num_classes):
    return nn.Sequential(nn.Linear(input_shape[0], 8), nn.ReLU(), nn.Linear(8, num_classes))


@pytest.mark.parametrize("model", [Own, factory, partial(MODELS["mlp"], hidden=(4,)), nn.Linear(6, 3), "mlp"])
def test_any_network_trains(model, blobs, quick):
    X, truth, _ = blobs
    classifier = quick(model=model, epochs=15, lr=0.1).fit(X, truth)
    assert classifier.score(X, truth) > 0.9
    assert classifier.model is model


def test_an_instance_is_copied_with_its_weights(blobs, quick):
    X, _, given = blobs
    model = nn.Linear(6, 3)
    before = deepcopy(model.state_dict())
    classifier = quick("erm", model=model, lr=1e-12).fit(X, given)
    assert torch.equal(model.weight, before["weight"])
    assert classifier.model_ is not model
    assert torch.allclose(classifier.model_.weight, model.weight)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (nn.Linear(5, 3), r"model 'Linear' cannot take samples of shape \(6,\)"),
        (nn.Linear(6, 2), r"returns \(2, 2\) for two samples; it must return logits of shape \(2, 3\)"),
        (lambda shape, classes: "net", "returns an object of type str; it must be a torch.nn.Module"),
        (lambda: nn.Linear(6, 3), "cannot be built"),
    ],
)
def test_a_network_that_does_not_fit_says_so(model, message, blobs, quick):
    X, _, given = blobs
    with pytest.raises(ModelError, match=message):
        quick(model=model).fit(X, given)


def test_random_layers_and_an_empty_first_layer_are_fine(blobs, quick):
    X, _, given = blobs
    model = nn.Sequential(nn.Sequential(), nn.Dropout(0.3), nn.Linear(6, 3))
    first, second = (quick(model=model).fit(X, given).predict_proba(X) for _ in range(2))
    assert np.array_equal(first, second)
