import pytest
import torch

from reweigh.bias.long_tail import long_tail
from reweigh.errors import DataError


# Sizes of CIFAR-10-LT and CIFAR-100-LT as published (Cui et al. 2019), 5,000 and 500 images a class.
@pytest.mark.parametrize(("factor", "ten", "hundred"), [
    (10, 20431, 19573), (20, 17023, 15907), (50, 13996, 12608), (100, 12406, 10847), (200, 11203, 9502),
    (1, 50000, 50000),
])  # fmt: skip
def test_the_sizes_of_cifar(factor, ten, hundred):
    for num_classes, published in ((10, ten), (100, hundred)):
        labels = torch.arange(50_000) % num_classes
        found = long_tail(labels, num_classes, 0, imbalance_factor=factor)
        sizes = torch.bincount(found.labels, minlength=num_classes).tolist()
        assert len(found.labels) == published
        assert sizes[0] / sizes[-1] == pytest.approx(factor, rel=0.5 if num_classes == 100 else 1e-9)
        assert sizes == sorted(sizes, reverse=True)


def test_what_remains_is_a_random_part_in_order_with_its_own_labels():
    labels = torch.arange(10_000) % 10
    first, again, other = (long_tail(labels, 10, seed, imbalance_factor=10) for seed in (0, 0, 1))
    assert torch.equal(first.index, again.index)
    assert not torch.equal(first.index, other.index)
    assert torch.equal(first.index, first.index.sort().values)
    assert len(set(first.index.tolist())) == len(first.index)
    assert torch.equal(first.labels, labels[first.index])
    assert first.rate == 0
    assert torch.equal(first.transition, torch.eye(10).double())
    assert 4500 < first.index[first.labels == 9].double().mean() < 5500  # 100 places spread over all of 0..9999


def test_classes_of_unequal_size_get_the_largest_tail_that_fits():
    labels = torch.tensor([0] * 50 + [1] * 100 + [2] * 5)
    sizes = torch.bincount(long_tail(labels, 3, 0, imbalance_factor=10).labels).tolist()
    assert sizes == [50, 15, 5]
    labels = torch.tensor([0] * 50 + [1] * 10 + [2] * 5)
    assert torch.bincount(long_tail(labels, 3, 0, imbalance_factor=10).labels).tolist() == [31, 9, 3]


def test_the_largest_class_may_be_given():
    labels = torch.arange(1000) % 2
    assert torch.bincount(long_tail(labels, 2, 0, imbalance_factor=4, largest=100).labels).tolist() == [100, 25]


def test_a_tail_longer_than_the_data():
    labels = torch.arange(200) % 2
    with pytest.raises(DataError, match=r"a tail of 101 from 100 samples leaves none of class 1; give at most 100"):
        long_tail(labels, 2, 0, imbalance_factor=101)
    with pytest.raises(DataError, match="largest: class 0 has 100 of 150 samples"):
        long_tail(labels, 2, 0, imbalance_factor=10, largest=150)
    with pytest.raises(DataError, match="no samples of class 1; a long tail needs some of each class"):
        long_tail(torch.tensor([0, 0, 0]), 2, 0, imbalance_factor=1)


@pytest.mark.parametrize("factor", [0.5, 0, -3, float("nan"), float("inf")])
def test_a_factor_below_one(factor):
    with pytest.raises(DataError, match="give a number of 1 or more"):
        long_tail(torch.tensor([0, 1]), 2, 0, imbalance_factor=factor)
