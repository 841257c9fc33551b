"""Rows that are nearly the same, against rows that were copied with small changes."""

import pytest
import torch

from reweigh.features.neighbors import near_duplicates


def _rows(width: int, count: int = 400) -> torch.Tensor:
    return torch.randn(count, width, generator=torch.Generator().manual_seed(width))


@pytest.mark.parametrize("width", [4, 8, 40])
def test_changed_copies_are_found(width: int) -> None:
    rows = _rows(width)
    copies = rows[:15] + 0.01 * _rows(width, 15)
    found = near_duplicates(torch.cat([rows, copies])).tolist()
    truth = [[row, 400 + row] for row in range(15)]
    assert len([pair for pair in truth if pair in found]) >= 14
    assert len(found) <= 17


@pytest.mark.parametrize("width", [1, 2, 3, 10])
def test_chance_is_not_a_copy(width: int) -> None:
    assert len(near_duplicates(_rows(width, 1500))) <= 2


def test_exact_copies_are_another_matter() -> None:
    rows = _rows(6)
    assert near_duplicates(torch.cat([rows, rows[:20], rows[:20]])).tolist() == near_duplicates(rows).tolist()
    together = torch.cat([rows, rows[:1], rows[:1] + 0.001])
    assert near_duplicates(together).tolist() == [[0, 401]]


@pytest.mark.parametrize("rows", [torch.zeros(100, 3), torch.zeros(0, 3), torch.ones(10, 2)])
def test_nothing_to_compare(rows: torch.Tensor) -> None:
    assert near_duplicates(rows).shape == (0, 2)
