"""Families and the curves of a net that has another number of them."""

import pytest
import torch

from reweigh.families import Families, sizes_differ


@pytest.mark.parametrize(
    ("here", "curves"), [(1, [1]), (2, [0, 2]), (3, [0, 1, 2]), (4, [0, 1, 1, 2]), (5, [0, 0, 1, 2, 2])]
)
def test_families_use_curves_by_rank(here: int, curves: list[int]) -> None:
    families = Families(torch.arange(here), torch.arange(here).double())
    assert families.curves(3).tolist() == curves


@pytest.mark.parametrize(
    ("sizes", "differ"),
    [
        ([100, 149, 120], False),
        ([100, 150], True),
        ([0, 100, 120], False),
        ([0, 0], False),
        ([30, 21, 27, 37, 29, 33, 32, 30, 37, 24], False),  # drawn from ten equally frequent classes
    ],
)
def test_sizes_that_differ_by_more_than_chance(sizes: list[int], differ: bool) -> None:
    assert sizes_differ(torch.tensor(sizes)) == differ
