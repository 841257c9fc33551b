"""log(1 - p) against decimal numbers of 28 digits."""

from decimal import Decimal

import torch

from reweigh.losses.log_complement import log_complement


def test_sure_and_unsure_rows():
    odds = [[2**40, 1, 1, 1], [1, 1, 1, 1], [1, 2**40, 2**40, 1], [1, 2, 4, 2**60]]
    logits = torch.tensor(odds, dtype=torch.float64).log().float()
    slow = [[float((Decimal(sum(row) - power) / sum(row)).ln()) for power in row] for row in odds]
    torch.testing.assert_close(log_complement(logits.log_softmax(1)), torch.tensor(slow), rtol=1e-5, atol=0)
