import pytest

from reweigh.training import Result

LINES = [
    {"epoch": i + 1, "test_accuracy": a, "test_tail": -i, "seconds": 1.0} for i, a in enumerate([0.5, 0.9, 0.9, 0.7])
]


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
