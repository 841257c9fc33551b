"""Labels in lists, arrays and tensors of any type."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn

from reweigh import DataError, Reweighter
from reweigh.reweighter.inputs import as_labels

INPUTS = torch.randn(24, 5, generator=torch.Generator().manual_seed(0))
LABELS = torch.tensor([0] * 14 + [1] * 7 + [2] * 3)
CPU = torch.device("cpu")


def _made(labels: Any) -> Reweighter:
    torch.manual_seed(0)
    model = nn.Linear(5, 3)
    return Reweighter(model, torch.optim.SGD(model.parameters(), 0.1), labels, every=1, families=3)


@pytest.mark.parametrize(
    "kind",
    [list, tuple, np.array, lambda x: np.array(x, dtype=np.uint16), pd.Series, torch.IntTensor,
     lambda x: torch.tensor(x, dtype=torch.uint8), lambda x: np.array(x)[::-1][::-1]],
)  # fmt: skip
def test_labels_of_any_kind(kind: Any) -> None:
    same = kind(LABELS.tolist())
    mine, other = _made(same), _made(LABELS)
    step = mine.step(INPUTS, same, INPUTS, same)
    assert torch.equal(step.weights, other.step(INPUTS, LABELS, INPUTS, LABELS).weights)
    assert torch.equal(mine.weigh(step.losses, same), mine.weigh(step.losses, LABELS))
    assert mine.learn((INPUTS, same), (INPUTS, same)) == other.learn((INPUTS, LABELS), (INPUTS, LABELS))
    mine.refresh(same)
    assert mine.families.of_class.tolist() == [2, 1, 0]


def test_rows_of_probabilities_may_be_an_array() -> None:
    rows = np.eye(3)[LABELS.numpy()]
    soft = _made(LABELS).step(INPUTS, rows, INPUTS, LABELS)
    counted = _made(LABELS).step(INPUTS, rows.astype(int), INPUTS, LABELS)
    hard = _made(LABELS).step(INPUTS, LABELS, INPUTS, LABELS)
    torch.testing.assert_close(soft.losses, hard.losses)
    torch.testing.assert_close(counted.losses, hard.losses)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["cat", "dog"], r"class numbers 0, 1, \.\.\. are needed; got list of <U3, such as 'cat'.*np\.unique"),
        (None, "got NoneType of object"),
        ([[0], [1, 2]], "class numbers 0, 1"),
        ([0.0, 1.0], r"got torch\.float32 of shape \(2,\); if these are class numbers, pass labels\.long\(\)"),
        (torch.zeros(2, 2, 2), r"got torch\.float32 of shape \(2, 2, 2\)"),
        (3, r"got torch\.int64 of shape \(\)"),
    ],
)
def test_what_is_not_a_label(labels: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        as_labels(labels, CPU, "labels")


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([-1, 0, 1], r"from -1 to 1; class numbers 0, 1, \.\.\. are needed"),
        ([10**9, 10**9 + 1], r"from 1000000000 to 1000000001; .*return_inverse=True"),
        ([], r"one per sample; got shape \(0,\)|got torch\.float32 of shape \(0,\)"),
        (np.eye(3), r"one per sample; got shape \(3, 3\)"),
    ],
)
def test_labels_of_a_training_set_that_cannot_be(labels: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        _made(labels)


def test_rows_of_another_number_of_classes() -> None:
    with pytest.raises(DataError, match="meta_labels: rows of 2 probabilities for 3 classes"):
        _made(LABELS).step(INPUTS, LABELS, INPUTS[:2], torch.eye(2))
