import pytest
import torch

from reweigh.data import Dataset, few_labels, with_label
from reweigh.data.splits import beyond, part, stratified
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
    with pytest.raises(DataError, match=f"{size}; the data have 10 samples, so give 1 to 10"):
        stratified(torch.arange(10), size, 0)


def test_a_part_beyond_another_shares_no_sample_with_it_and_has_the_same_classes():
    labels = torch.tensor([0] * 60 + [1] * 30 + [2] * 10)
    data = Dataset(torch.arange(100.0)[:, None], labels, ("a", "b", "c"))
    held = beyond(data, 50, 20)
    assert not set(held.inputs.flatten().tolist()) & set(part(data, 50).inputs.flatten().tolist())
    assert (held.class_sizes - torch.tensor([12, 6, 2])).abs().max() <= 1


@pytest.mark.parametrize(("size", "more", "left"), [(None, 5, 0), (50, 60, 50), (50, 0, 50)])
def test_no_more_than_there_is_beyond(size, more, left):
    data = Dataset(torch.zeros(100, 1), torch.zeros(100, dtype=torch.int64), ("a",))
    with pytest.raises(DataError, match=rf"held_out: {more}; train_size leaves {left} of 100 samples"):
        beyond(data, size, more)


def _data() -> Dataset:
    labels = torch.arange(60) % 3
    return Dataset(torch.zeros(60, 2), labels, ("a", "b", "c"))


def test_the_same_number_of_each_class_is_kept():
    before = _data()
    data = few_labels(before, 12, seed=3)
    assert data.class_sizes.tolist() == [4, 4, 4]
    assert data.labels[data.labeled].equal(before.labels[data.labeled])
    assert data.true_labels is not None
    assert data.true_labels.equal(before.labels)
    assert few_labels(before, 12, seed=3).labels.equal(data.labels)
    assert not few_labels(before, 12, seed=4).labels.equal(data.labels)
    assert bool(few_labels(before, 18, seed=3).labeled[data.labeled].all())
    assert len(with_label(data)) == 12
    assert with_label(before) is before


def test_what_does_not_divide_goes_to_some_classes():
    assert sorted(few_labels(_data(), 11, seed=0).class_sizes.tolist()) == [3, 4, 4]


def test_what_cannot_be_kept_is_refused():
    with pytest.raises(DataError, match=r"^labeled: 2 for 3 classes; keep at least one label of each class, 3$"):
        few_labels(_data(), 2, seed=0)
    with pytest.raises(DataError, match=r"^labeled: 63 labels take 21 of class 'a', which has 20 samples; keep fewer$"):
        few_labels(_data(), 63, seed=0)
