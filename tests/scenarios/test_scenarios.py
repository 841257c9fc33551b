import warnings

import pytest
import torch
from sklearn.metrics import accuracy_score, balanced_accuracy_score, recall_score

from reweigh.errors import DataError
from reweigh.scenarios import SCENARIOS


def sample(classes: int, present: list[int], n: int = 200) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(classes)
    labels = torch.tensor(present)[torch.randint(len(present), (n,), generator=generator)]
    logits = torch.randn(n, classes, generator=generator) + torch.eye(classes)[labels]
    return logits, labels


@pytest.mark.parametrize("name", SCENARIOS)
@pytest.mark.parametrize("present", [[0, 1, 2, 3, 4, 5, 6], [1, 4, 5]])
def test_accuracies_against_sklearn(name, present):
    logits, labels = sample(7, present)
    predicted = logits.argmax(1)
    numbers = SCENARIOS[name](logits, labels, torch.arange(7))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # predictions of classes that the test lacks
        balanced = balanced_accuracy_score(labels, predicted)
    assert numbers["accuracy"] == pytest.approx(accuracy_score(labels, predicted))
    assert numbers["balanced_accuracy"] == pytest.approx(balanced)
    assert next(iter(numbers)) == "accuracy"
    assert all(type(value) is float for value in numbers.values())


def test_head_middle_and_tail_by_size_in_training():
    logits, labels = sample(10, list(range(10)), 500)
    sizes = torch.tensor([50, 500, 5, 400, 40, 4, 300, 30, 3, 20])
    numbers = SCENARIOS["long-tail"](logits, labels, sizes)
    for group, classes in {"head": [1, 3, 6], "middle": [0, 4, 7, 9], "tail": [2, 5, 8]}.items():
        expected = recall_score(labels, logits.argmax(1), labels=classes, average="macro")
        assert numbers[f"{group}_accuracy"] == pytest.approx(expected)


def test_groups_that_do_not_exist_are_left_out():
    logits, labels = sample(2, [0])
    assert set(SCENARIOS["long-tail"](logits, labels, torch.tensor([9, 1]))) == {
        "accuracy",
        "balanced_accuracy",
        "head_accuracy",
    }


@pytest.mark.parametrize("name", SCENARIOS)
def test_empty_test_set(name):
    with pytest.raises(DataError, match="empty"):
        SCENARIOS[name](torch.zeros(0, 3), torch.zeros(0, dtype=torch.int64), torch.ones(3))
