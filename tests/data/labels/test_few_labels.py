"""Few labels are kept, the same number in each class, and all others are gone."""

import pytest
import torch

from reweigh.data import Dataset, few_labels, with_label
from reweigh.errors import DataError


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
