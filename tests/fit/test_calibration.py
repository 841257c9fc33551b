"""The calibration against a brute-force grid, and on data whose true probabilities are known."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import Generator, Tensor

from reweigh.fit.decision import FOLDS, MIN_LABELS, TEMPERATURE_SPREAD, calibrate, learned_shares, supposed_joints

TOO_SURE = 2.5


def gaussians(samples: int, classes: int, apart: float, noise: float, seed: int = 0) -> tuple[Tensor, Tensor, Tensor]:
    """Scores that are too sure, given labels, and true labels, of normal classes with shares 1 : ... : 3."""
    generator = Generator().manual_seed(seed)
    shares = torch.linspace(1, 3, classes, dtype=torch.float64)
    true = torch.multinomial(shares, samples, True, generator=generator)
    means = apart * torch.eye(classes, dtype=torch.float64)
    inputs = means[true] + torch.randn(samples, classes, generator=generator, dtype=torch.float64)
    other = (true + torch.randint(1, classes, (samples,), generator=generator)) % classes
    given = torch.where(torch.rand(samples, generator=generator) < noise, other, true)
    return -TOO_SURE * torch.cdist(inputs, means).square() / 2, given, true


@pytest.mark.parametrize("noise", [0.0, 0.2])
def test_temperature_is_that_of_a_grid(monkeypatch, noise: float) -> None:
    scores, given, _ = gaussians(300, 3, 2.0, noise)
    fold = torch.zeros(300, dtype=torch.long)
    order = sorted(range(300), key=lambda each: (int(given[each]), each))
    for place, each in enumerate(order):
        fold[each] = place % FOLDS
    costs, logs, joints = [], [], []
    of_others = [learned_shares(scores[fold != each], given[fold != each]) for each in range(FOLDS)]
    rows = list(zip(*(supposed_joints(joint) for joint in of_others), strict=True))
    for apart, whole in zip(rows, supposed_joints(learned_shares(scores, given)), strict=True):

        def cost(log: float, apart: tuple[Tensor, ...] = apart) -> float:
            total = (log / TEMPERATURE_SPREAD) ** 2 / 2
            for each, joint in enumerate(apart):
                products = (scores[fold == each] / math.exp(log)).softmax(1) * joint.sum(0)
                chances = products / products.sum(1, keepdim=True) @ (joint / joint.sum(0)).T
                total -= float(chances.gather(1, given[fold == each][:, None]).log().sum())
            return total

        best = min((step / 50 for step in range(-75, 125)), key=cost)
        costs.append(cost(best))
        logs.append(best)
        joints.append(whole)
    weights = torch.tensor([math.exp(min(costs) - each) for each in costs], dtype=torch.float64)
    weights /= weights.sum()
    monkeypatch.setattr("reweigh.fit.decision.MAX_BIAS", 0.0)
    found = calibrate(scores, given)
    assert math.log(found.temperature) == pytest.approx(
        float(weights @ torch.tensor(logs, dtype=torch.float64)), abs=0.01
    )
    assert found.joint.numpy() == pytest.approx(
        sum(w * j for w, j in zip(weights, joints, strict=True)).numpy(), abs=1e-3
    )
    assert not found.bias.any()


def test_supposed_joints_keep_the_labels_and_begin_without_wrong_ones() -> None:
    joint = torch.tensor([[0.3, 0.1, 0.0], [0.0, 0.2, 0.1], [0.0, 0.0, 0.3]], dtype=torch.float64)
    found = list(supposed_joints(joint))
    for each in found:
        assert each.sum(1).tolist() == pytest.approx(joint.sum(1).tolist())
    wrong = [1 - float(each.trace()) for each in found]
    assert wrong == pytest.approx([0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.04, 0.08, 0.12, 0.16, 0.2], abs=0.006)
    assert found[-1].tolist() == joint.tolist()


def test_wrong_labels_in_no_direction_leave_a_rare_class_rarer_than_its_labels_say() -> None:
    true, transition = torch.tensor([0.7, 0.3]), torch.tensor([[0.8, 0.2], [0.2, 0.8]])
    joint = (transition * true).double()  # 38 % of the labels are those of the rare class
    even = list(supposed_joints(joint.sum(1).diag()))[2]
    assert even.flatten().tolist() == pytest.approx(joint.flatten().tolist())
    scarce = list(supposed_joints(torch.tensor([[0.9, 0.0], [0.0, 0.1]]).double()))[2]  # fewer than wrong labels alone
    assert scarce.sum(1).tolist() == pytest.approx([0.9, 0.1])
    assert (scarce >= 0).all()


@pytest.mark.parametrize("noise", [0.0, 0.2])
@pytest.mark.parametrize("classes", [2, 5])
def test_overlapping_classes_are_told_from_wrong_labels(noise: float, classes: int) -> None:
    scores, given, true = gaussians(4000, classes, 2.0, noise)
    supposed = learned_shares(scores, given)
    found = calibrate(scores, given)
    shares = torch.linspace(1, 3, classes, dtype=torch.float64)
    by_bayes = F.cross_entropy(scores / TOO_SURE + (shares / shares.sum()).log(), true)
    ours = F.cross_entropy(scores / found.temperature + found.bias + found.joint.sum(0).log(), true)
    assert float(1 - supposed.trace()) > noise + 0.03  # overlap looks like wrong labels
    assert float(1 - found.joint.trace()) == pytest.approx(noise, abs=0.025)
    assert float(ours) < float(by_bayes) + 0.015


def test_a_bias_corrects_a_class_that_is_predicted_too_often() -> None:
    scores, given, _ = gaussians(4000, 3, 2.0, 0.0)
    shifted = scores + torch.tensor([1.5, 0.0, 0.0])
    right, found = (calibrate(each, given) for each in (scores, shifted))
    moved = found.bias - right.bias
    assert float(moved[0] - moved[1]) == pytest.approx(-1.5 / TOO_SURE, abs=0.1)


def test_too_few_labels_do_not_calibrate() -> None:
    scores, given, _ = gaussians(MIN_LABELS, 2, 2.0, 0.0)
    joint = torch.eye(2) / 2
    assert calibrate(scores, given, joint).labels == MIN_LABELS
    given[0] = -1
    found = calibrate(scores, given, joint)
    assert (found.temperature, found.labels, found.bias.tolist()) == (1.0, 0, [0.0, 0.0])


def test_a_class_without_a_held_out_label_has_no_bias() -> None:
    scores, given, _ = gaussians(500, 4, 2.0, 0.0)
    kept = given != 0
    found = calibrate(scores[kept], given[kept], torch.eye(4) / 4)
    assert float(found.bias[0]) == 0
    assert bool(found.bias[1:].all())


@pytest.mark.parametrize("seed", [0, 1])
def test_many_classes_that_overlap_are_not_taken_for_wrong_labels(seed: int) -> None:
    generator = Generator().manual_seed(seed)
    place = 19 * torch.rand(1200, generator=generator)
    scores = -(place[:, None] - torch.arange(19)).square() / 8
    given = torch.multinomial(scores.softmax(1), 1, generator=generator).flatten()  # all of them right
    found = calibrate(scores, given)
    assert found.temperature == pytest.approx(1, abs=0.1)
    assert found.joint.trace() > 0.95
