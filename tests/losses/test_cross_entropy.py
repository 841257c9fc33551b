"""Cross-entropy against its formula as a loop."""

import math

import pytest
import torch

from reweigh.errors import DataError
from reweigh.losses import LOSSES


def test_the_formula() -> None:
    torch.manual_seed(0)
    logits, labels = torch.randn(6, 4, dtype=torch.float64), torch.tensor([0, 1, 2, 3, 0, 1])
    slow = [math.log(sum(math.exp(z) for z in row)) - row[k] for row, k in zip(logits.tolist(), labels, strict=True)]
    torch.testing.assert_close(LOSSES["cross-entropy"](logits, labels), torch.tensor(slow, dtype=torch.float64))


def test_soft_labels_average_over_classes() -> None:
    torch.manual_seed(0)
    logits, rows = torch.randn(5, 3), torch.softmax(torch.randn(5, 3), 1)
    each = torch.stack([LOSSES["cross-entropy"](logits, torch.full((5,), k)) for k in range(3)], 1)
    torch.testing.assert_close(LOSSES["cross-entropy"](logits, rows), (rows * each).sum(1))


def test_a_label_that_is_no_class() -> None:
    with pytest.raises(DataError, match="labels from 0 to 3 for a model with 3 outputs"):
        LOSSES["cross-entropy"](torch.randn(2, 3), torch.tensor([0, 3]))
