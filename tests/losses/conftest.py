"""Every loss with what it needs: double precision, logits, labels of both kinds, and a slow way to average."""

import inspect
from collections.abc import Callable
from functools import partial

import pytest
import torch
from torch import Tensor

from reweigh.losses import LOSSES

SIZES = torch.tensor([500, 40, 7, 120])
TRANSITION = ((0.7, 0.3, 0.0, 0.0), (0.0, 1.0, 0.0, 0.0), (0.1, 0.2, 0.6, 0.1), (0.25, 0.25, 0.25, 0.25))


@pytest.fixture(params=LOSSES)
def loss(request) -> Callable[[Tensor, Tensor], Tensor]:
    """Each loss in turn, with defaults, and what it cannot do without."""
    known = {"class_sizes": SIZES, "transition": TRANSITION}
    wanted = inspect.signature(LOSSES[request.param]).parameters
    return partial(LOSSES[request.param], **{name: value for name, value in known.items() if name in wanted})


@pytest.fixture
def logits() -> Tensor:
    return 2 * torch.randn(12, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


@pytest.fixture
def labels() -> Tensor:
    return torch.arange(12) % 4


@pytest.fixture
def rows() -> Tensor:
    """Soft labels, one of them certain."""
    drawn = torch.randn(12, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(1)).softmax(1)
    drawn[3] = torch.tensor([0.0, 1, 0, 0])
    return drawn


@pytest.fixture
def check(logits, labels, rows) -> Callable[..., None]:
    """Compare a loss with its formula, (list of logits, label) -> float, for integers and for soft labels."""

    def compare(fast: Callable[[Tensor, Tensor], Tensor], slow: Callable[[list[float], int], float]) -> None:
        table = torch.tensor([[slow(row, label) for label in range(4)] for row in logits.tolist()], dtype=torch.float64)
        torch.testing.assert_close(fast(logits, labels), table[torch.arange(12), labels])
        torch.testing.assert_close(fast(logits, rows), (rows * table).sum(1))

    return compare


@pytest.fixture
def same(logits, labels, rows) -> Callable[..., None]:
    """Two losses agree, for integers and for soft labels."""

    def compare(one: Callable[[Tensor, Tensor], Tensor], other: Callable[[Tensor, Tensor], Tensor], **near) -> None:
        for given in (labels, rows):
            torch.testing.assert_close(one(logits, given), other(logits, given), **near)

    return compare


@pytest.fixture
def probabilities() -> Callable[[list[float]], list[float]]:
    def softmax(row: list[float]) -> list[float]:
        powers = [2.718281828459045**z for z in row]
        return [power / sum(powers) for power in powers]

    return softmax
