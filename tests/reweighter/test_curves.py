"""The unit in which a new weighting function reads losses: by the scale of a cosine head, unless another is given."""

import pytest
import torch
from torch import nn

from reweigh import Reweighter
from reweigh.models.experts import Experts
from reweigh.models.last_layer import with_cosine_head
from reweigh.weighting import ClassAwareNet


def unit(model: nn.Module, **options: object) -> float:
    reweighter = Reweighter(model, torch.optim.SGD(model.parameters(), 0.1), [0, 1, 2], **options)
    return reweighter.weight_net.unit


def mlp() -> nn.Module:
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (mlp(), 1.0),
        (with_cosine_head(mlp(), 30.0), 6.0),
        (Experts(with_cosine_head(mlp(), 30.0)), 6.0),
        (with_cosine_head(mlp(), 2.0), 1.0),
    ],
)
def test_it_follows_the_scale_of_the_logits(model: nn.Module, expected: float) -> None:
    assert unit(model) == expected
    assert unit(model, loss_unit=1.0) == 1.0


def test_a_scale_that_is_learned_or_a_vector_does_not_count() -> None:
    for scale in (nn.Parameter(torch.tensor(7.0)), torch.full((3,), 7.0)):
        model = mlp()
        model[2].scale = scale
        assert unit(model) == 1.0


def test_functions_that_are_given_keep_their_own() -> None:
    model, net = with_cosine_head(mlp()), ClassAwareNet(3)
    net.unit = 5.0
    assert unit(model, weight_net=net) == 5.0
    assert unit(model, weighting=net) == 5.0


@pytest.mark.parametrize("seed", range(5))
def test_new_functions_trust_samples_alike_however_logits_are_scaled(seed: int) -> None:
    """Of losses of 30, without a unit, one of five such functions takes less than a hundredth of the weight."""
    torch.manual_seed(seed)
    model = with_cosine_head(mlp())
    reweighter = Reweighter(model, torch.optim.SGD(model.parameters(), 0.1), [0, 1, 2])
    weights = reweighter.weigh(torch.tensor([0.0, 10.0, 30.0]), [0, 0, 0])
    assert weights.min() > weights.max() / 5
