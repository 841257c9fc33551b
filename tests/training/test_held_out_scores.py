"""The judge against a hand computation and loops."""

import math

import pytest
import torch

from reweigh.training import judge as judging
from reweigh.training.judge import HeldOutScores

LABELS = torch.tensor([0, 0, 0, 1])


def judge_of(*epochs):
    """A judge that has seen these hits."""
    judge = HeldOutScores(LABELS)
    for hits in epochs:
        predicted = torch.where(torch.tensor(hits).bool(), LABELS, 1 - LABELS)
        judge.add(predicted)
    return judge


def test_scores_are_balanced_means_over_three_epochs():
    judge = judge_of([1, 1, 1, 0], [1, 1, 0, 0], [0, 0, 0, 1])
    alone = [3 / 3 / 2, 2 / 3 / 2, 1 / 2]  # a class counts a half, whatever its size
    expected = [(alone[0] + alone[1]) / 2, sum(alone) / 3, (alone[1] + alone[2]) / 2]
    assert judge.scores().tolist() == pytest.approx(expected)
    assert judge.best(3) == expected.index(max(expected))
    assert judge.best(2, first=1) == 1
    assert judge.best(2, first=9) == 1


def test_every_sample_counts_the_same_if_not_balanced():
    judge = HeldOutScores(LABELS, balanced=False)
    judge.add(torch.tensor([0, 0, 0, 0]))
    assert judge.accuracy(0)[0] == pytest.approx(3 / 4)


def test_a_comparison_by_a_loop():
    judge = judge_of([1, 1, 0, 1], [0, 1, 1, 0])
    one, other = torch.tensor([1.0, 0.5, 0.0, 1.0]).double(), torch.tensor([0.5, 0.5, 1.0, 0.0]).double()
    weights = [1 / 6, 1 / 6, 1 / 6, 1 / 2]
    differences = [a - b for a, b in zip(one.tolist(), other.tolist(), strict=True)]
    mean = sum(w * d for w, d in zip(weights, differences, strict=True))
    error = math.sqrt(sum((w * (d - mean)) ** 2 for w, d in zip(weights, differences, strict=True)))
    assert judge.compare(one, other) == pytest.approx((mean, error))


def test_the_latest_of_the_best(monkeypatch):
    flat = judge_of(*[[1, 1, 0, 1]] * 4)
    assert flat.best(4) == 0
    assert flat.latest_of_the_best(4, 0) == 3
    falling = judge_of([1, 1, 1, 1], [1, 1, 1, 1], [1, 1, 1, 0], [0, 0, 0, 0], [0, 0, 0, 0])
    assert falling.best(5) == 0
    assert falling.latest_of_the_best(5, 0) == 0
    monkeypatch.setattr(judging, "MAX_LAG", 5.0)
    assert falling.latest_of_the_best(5, 0) == 1  # behind by 1/6; the standard error is 0.096
