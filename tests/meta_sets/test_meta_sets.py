"""Which samples are trusted, against choosing them one class at a time."""

import pytest
import torch
from torch import Tensor

from reweigh.core.batch import Batch
from reweigh.errors import DataError
from reweigh.meta_sets import META_SETS, MetaStream

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


def test_given_samples_are_checked() -> None:
    assert META_SETS["given"](index=(5, 7)).choose(LABELS, None, TORCH).tolist() == [5, 7]
    with pytest.raises(DataError, match="places from 5 to 200, but the training set has 200"):
        META_SETS["given"](index=(5, 200)).choose(LABELS, None, TORCH)
    with pytest.raises(DataError, match="empty"):
        META_SETS["given"](index=()).choose(LABELS, None, TORCH)


def _stream(**options: object) -> MetaStream:
    inputs = torch.arange(200.0).reshape(200, 1)
    generator = torch.Generator().manual_seed(1)

    def fetch(index: Tensor) -> Batch:
        return Batch(inputs[index], LABELS[index], index)

    stream = MetaStream(META_SETS["lowest-loss"](per_class=5, **options), fetch, LABELS, 4, generator)
    stream.refresh(LOSSES)
    return stream


def test_each_trusted_sample_comes_once_before_any_comes_again() -> None:
    stream = _stream(mixup=False, batch_size=6)
    seen = torch.cat([stream.next(64)[0].squeeze(1) for _ in range(6)])  # 18 chosen, 36 drawn
    assert seen[:18].sort().values.tolist() == stream.chosen.tolist()
    assert seen[18:].sort().values.tolist() == stream.chosen.tolist()


def test_a_trusted_batch_is_no_larger_than_the_set() -> None:
    assert len(_stream(mixup=False).next(64)[0]) == 18
    assert len(_stream(mixup=False).next(4)[0]) == 4


def test_mixed_batches_have_soft_labels() -> None:
    inputs, labels = _stream(mixup=True).next(64)
    assert labels.shape == (18, 4)
    torch.testing.assert_close(labels.sum(1), torch.ones(18))
    assert not torch.equal(inputs, inputs.round())


def test_goes_on_where_it_was() -> None:
    stream = _stream(mixup=False, batch_size=5)
    stream.next(64)
    other = _stream(mixup=False, batch_size=5)
    other.load_state_dict(stream.state_dict())
    other._generator.set_state(stream._generator.get_state())
    for _ in range(5):
        assert torch.equal(stream.next(64)[0], other.next(64)[0])


def test_labeled_samples_are_those_with_a_label() -> None:
    labels = torch.tensor([2, -1, 0, -1, 1])
    assert META_SETS["labeled"]().choose(labels, None, TORCH).tolist() == [0, 2, 4]
    with pytest.raises(DataError, match="no sample has a label"):
        META_SETS["labeled"]().choose(torch.full((3,), -1), None, TORCH)


def test_a_clean_set_is_trusted_as_a_whole() -> None:
    clean = META_SETS["clean"](path="trusted.csv", label="kind")
    assert clean.source == "trusted.csv"
    assert clean.choose(torch.tensor([0, 1, 1]), None, TORCH).tolist() == [0, 1, 2]
