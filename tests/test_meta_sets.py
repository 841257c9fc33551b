"""Which samples are trusted, against choosing them one class at a time."""

import pytest
import torch

from reweigh.errors import DataError
from reweigh.meta_sets import META_SETS

TORCH = torch.Generator().manual_seed(0)
LABELS = torch.randint(4, (200,), generator=TORCH)
LABELS[LABELS == 3] = 0
LABELS[:3] = 3  # a class of three
LOSSES = torch.rand(200, generator=TORCH)


def test_lowest_loss_one_class_at_a_time() -> None:
    chosen = META_SETS["lowest-loss"](per_class=10).choose(LABELS, LOSSES, TORCH)
    slow = []
    for k in range(4):
        places = LABELS.eq(k).nonzero().squeeze(1)
        slow += sorted(places.tolist(), key=lambda i: float(LOSSES[i]))[:10]
    assert chosen.tolist() == sorted(slow)
    assert len(chosen) == 33  # the class of three gives what it has


def test_balanced_random_takes_as_many_as_the_rarest_has() -> None:
    meta_set = META_SETS["balanced-random"]()
    first, second = (meta_set.choose(LABELS, None, TORCH) for _ in range(2))
    for chosen in (first, second):
        assert torch.bincount(LABELS[chosen]).tolist() == [3, 3, 3, 3]
        assert len(chosen.unique()) == 12
    assert not torch.equal(first, second)


def test_labeled_samples_are_those_with_a_label() -> None:
    labels = torch.tensor([2, -1, 0, -1, 1])
    assert META_SETS["labeled"]().choose(labels, None, TORCH).tolist() == [0, 2, 4]
    with pytest.raises(DataError, match="no sample has a label"):
        META_SETS["labeled"]().choose(torch.full((3,), -1), None, TORCH)


def test_a_clean_set_is_trusted_as_a_whole() -> None:
    clean = META_SETS["clean"](path="trusted.csv", label="kind")
    assert clean.source == "trusted.csv"
    assert clean.choose(torch.tensor([0, 1, 1]), None, TORCH).tolist() == [0, 1, 2]
