"""Folds are even in every class, and small classes are never held out."""

import torch

from reweigh.data.splits import stratified_folds


def seeded(seed):
    return torch.Generator().manual_seed(seed)


def test_even_in_every_class():
    labels = torch.tensor([0] * 23 + [1] * 10 + [2] * 4 + [3] * 3 + [-1] * 2)[torch.randperm(42, generator=seeded(1))]
    fold = stratified_folds(labels, 4, 4, seeded(0))
    for label in range(3):
        counts = torch.bincount(fold[labels == label], minlength=4)
        assert int(counts.min()) >= 1
        assert int(counts.max() - counts.min()) <= 1
    assert set(fold[labels == 3].tolist()) == set(fold[labels == -1].tolist()) == {-1}
    assert torch.equal(fold, stratified_folds(labels, 4, 4, seeded(0)))
    assert not torch.equal(fold, stratified_folds(labels, 4, 4, seeded(5)))


def test_of_nothing():
    assert len(stratified_folds(torch.empty(0, dtype=torch.int64), 5, 1, seeded(0))) == 0
