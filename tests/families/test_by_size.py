"""Families of classes against the exact solution of one-dimensional K-means."""

import logging
from itertools import combinations, pairwise

import pytest
import torch

from reweigh.families import by_size


def _exact(sizes: list[int], k: int) -> list[int]:
    """Try every way to cut the sorted sizes into k runs; the least sum of squares wins."""
    order = sorted(range(len(sizes)), key=lambda i: sizes[i])
    values = torch.tensor([float(sizes[i]) for i in order])

    def cost(cuts: tuple[int, ...]) -> float:
        ends = (0, *cuts, len(values))
        return sum(float(((part := values[a:b]) - part.mean()).square().sum()) for a, b in pairwise(ends))

    best = min(combinations(range(1, len(values)), k - 1), key=cost)
    family = [0] * len(sizes)
    for place, i in enumerate(order):
        family[i] = sum(place >= cut for cut in best)
    return family


@pytest.mark.parametrize("factor", [10, 20, 50, 100, 200])
def test_long_tails_of_the_paper(factor: int) -> None:
    sizes = [int(5000 * factor ** (-c / 9)) for c in range(10)]
    families = by_size(torch.tensor(sizes), 3)
    assert families.of_class.tolist() == _exact(sizes, 3)
    # family sizes of CIFAR-10-LT, small to large, worked out independently in the notes on the published recipes
    assert torch.bincount(families.of_class).tolist() == {10: [5, 3, 2], 20: [6, 2, 2]}.get(factor, [7, 2, 1])


def test_the_order_of_classes_does_not_matter() -> None:
    sizes = torch.tensor([5000, 100, 3000, 120, 4900, 90])
    assert by_size(sizes, 3).of_class.tolist() == [2, 0, 1, 0, 2, 0]
    assert by_size(sizes.flip(0), 3).of_class.tolist() == [0, 2, 0, 1, 0, 2]
    assert by_size(sizes, 3).centers.tolist() == sorted(by_size(sizes, 3).centers.tolist())


def test_classes_without_samples_have_no_say() -> None:
    families = by_size(torch.tensor([0, 500, 500, 0, 500]), 3)
    assert families.of_class.tolist() == [0] * 5
    assert families.centers.tolist() == [500]
    families = by_size(torch.tensor([0, 100, 1000, 5000]), 3)
    assert families.of_class.tolist() == [0, 0, 1, 2]
    assert families.centers.tolist() == [100, 1000, 5000]


def test_fewer_sizes_than_families(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        families = by_size(torch.tensor([50, 50, 20, 20]), 3)
    assert families.num_families == 2
    assert families.of_class.tolist() == [1, 1, 0, 0]
    assert "only 2 distinct sizes" in caplog.text
    assert by_size(torch.tensor([7, 7, 7]), 3).of_class.tolist() == [0, 0, 0]
