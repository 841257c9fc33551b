import numpy as np
import pytest

from reweigh.training.result import Means, Result

LINES = [
    {"epoch": i + 1, "test_accuracy": a, "test_tail": -i, "seconds": 1.0} for i, a in enumerate([0.5, 0.9, 0.9, 0.7])
]
STEPS = [({"loss": 2.0}, 3), ({"loss": 1.0, "meta": 5.0}, 4), ({"loss": 4.0, "meta": 1.0}, 1)]
TWO = [{"epoch": 1, "test_accuracy": 0.9, "seconds": 1.0}, {"epoch": 2, "test_accuracy": 0.8, "seconds": 1.0}]


def test_best_is_the_earliest_highest_first_test_number():
    result = Result(LINES)
    assert result.best["epoch"] == 2
    assert result.last["epoch"] == 4


def test_without_a_test_the_best_is_the_last():
    assert Result([{"epoch": 1, "train_loss": 1.0}, {"epoch": 2, "train_loss": 3.0}]).best["epoch"] == 2


def test_summary():
    summary = Result(LINES).summary("running", 9)
    assert summary == {
        "status": "running",
        "epochs": 9,
        "epochs_done": 4,
        "seconds": 4.0,
        "best": LINES[1],
        "last": LINES[3],
        "kept": LINES[3],
        "last_ten": {"test_accuracy": 0.75, "test_tail": -1.5},
    }
    judged = [{**line, "judge_keeps": keeps} for line, keeps in zip(LINES, (1, 2, 2, 2), strict=True)]
    assert Result(judged).kept == judged[1]
    assert (Result(LINES).kept_name, Result(judged).kept_name) == ("last", "kept")
    assert Result([]).summary("interrupted", 9) == {"status": "interrupted", "epochs": 9, "epochs_done": 0}


def test_the_mean_of_the_last_ten_epochs():
    lines = [
        {"epoch": epoch, "seconds": 1.0, "train_loss": 9.0, "test_accuracy": epoch / 100} for epoch in range(1, 15)
    ]
    assert Result(lines).last_ten == {"test_accuracy": pytest.approx(sum(range(5, 15)) / 1000)}
    assert Result(lines[:2]).last_ten == {"test_accuracy": pytest.approx(0.015)}


def test_weighted_by_samples_and_each_number_by_its_own():
    means = Means()
    for numbers, samples in STEPS:
        means.add(numbers, samples)
    expected = {"loss": np.average([2, 1, 4], weights=[3, 4, 1]), "meta": np.average([5, 1], weights=[4, 1])}
    assert means.means() == pytest.approx(expected)


def test_continues_from_a_saved_state():
    whole, first, second = Means(), Means(), Means()
    for numbers, samples in STEPS:
        whole.add(numbers, samples)
    first.add(*STEPS[0])
    second.load_state_dict(first.state_dict())
    second.add(*STEPS[1])
    second.add(*STEPS[2])
    assert second.means() == whole.means()
    assert first.means() == {"loss": 2.0}
