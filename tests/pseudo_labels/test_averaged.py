"""The averaged model against the weighted mean of all models so far."""

import torch
from torch import nn

from reweigh.pseudo_labels import AveragedModel


def test_the_weighted_mean_of_all_models_so_far() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4)).double()
    average = AveragedModel(model, decay=0.9)
    seen = []
    for _ in range(12):
        model(torch.randn(8, 3, dtype=torch.float64) * 3)  # moves the statistics
        with torch.no_grad():
            for p in model.parameters():
                p.add_(torch.randn_like(p))
        average.update(model)
        seen.append({name: value.clone() for name, value in model.state_dict().items()})
        weights = torch.tensor([0.9**age for age in reversed(range(len(seen)))], dtype=torch.float64)
        for name, value in average.model.state_dict().items():
            if value.dtype.is_floating_point:
                slow = sum(w * state[name] for w, state in zip(weights / weights.sum(), seen, strict=True))
                torch.testing.assert_close(value, slow)
            else:
                assert torch.equal(value, seen[-1][name])


def test_goes_on_where_it_was() -> None:
    model = nn.Linear(2, 2)
    average, other = AveragedModel(model), AveragedModel(nn.Linear(2, 2))
    average.update(model)
    other.load_state_dict(average.state_dict())
    nn.init.ones_(model.weight)
    for one in (average, other):
        one.update(model)
    assert torch.equal(average.model.weight, other.model.weight)


def test_decay_may_change_and_at_one_the_average_stays() -> None:
    model = nn.Linear(1, 1, bias=False).double()
    average = AveragedModel(model, decay=0.5)
    seen, weights = [], []
    for place, decay in enumerate([0.5, 0.5, 0.9, 0.9, 1.0, 1.0]):
        average.decay = decay
        nn.init.constant_(model.weight, float(place))
        average.update(model)
        if decay < 1:
            weights = [decay * weight for weight in weights] + [1 - decay]
            seen.append(float(place))
        slow = sum(w * value for w, value in zip(weights, seen, strict=True)) / sum(weights)
        torch.testing.assert_close(float(average.model.weight), slow)


def test_a_tied_weight_is_averaged_once() -> None:
    model = nn.Sequential(nn.Linear(2, 2, bias=False), nn.Linear(2, 2, bias=False))
    model[1].weight = model[0].weight
    average, rows = AveragedModel(model, 0.5), []
    for number in range(3):
        nn.init.constant_(model[0].weight, number)
        rows.append(float(number))
        average.update(model)
    expected = (rows[0] * 0.25 + rows[1] * 0.5 + rows[2]) / 1.75
    assert average.model[0].weight is average.model[1].weight
    torch.testing.assert_close(average.model[0].weight, torch.full((2, 2), expected))
