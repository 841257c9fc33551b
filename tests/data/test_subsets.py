import pytest
import torch

from reweigh.data.subsets import stratified
from reweigh.errors import DataError


@pytest.mark.parametrize("size", [1, 10, 37, 100, 999, 1000])
def test_shares_are_kept_to_within_a_sample(size):
    labels = torch.tensor([0] * 600 + [1] * 300 + [2] * 100)
    found = stratified(labels, size, 0)
    assert len(set(found.tolist())) == len(found) == size
    assert torch.equal(found, found.sort().values)
    sizes = torch.bincount(labels[found], minlength=3)
    assert (sizes - size * torch.tensor([0.6, 0.3, 0.1])).abs().max() <= 1


def test_a_smaller_part_lies_within_a_larger_one():
    labels = torch.arange(500) % 7
    assert set(stratified(labels, 50, 3).tolist()) < set(stratified(labels, 80, 3).tolist())


def test_a_random_part_not_the_first_samples():
    assert 400 < stratified(torch.zeros(1000, dtype=torch.int64), 200, 0).double().mean() < 600


@pytest.mark.parametrize("size", [0, -1, 11])
def test_more_than_there_is(size):
    with pytest.raises(DataError, match=f"{size}; the data have 10 samples, allowed is 1 to 10"):
        stratified(torch.arange(10), size, 0)
