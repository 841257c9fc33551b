"""Labeled batches: all labeled samples in turn, whatever the size of a batch."""

import pytest
import torch

from reweigh.errors import DataError
from reweigh.methods.parts.batches import EndlessOrder, LabeledBatches
from reweigh.methods.parts.guesses import Guesses


def test_each_labeled_sample_comes_once_before_any_comes_again(few):
    setup = few("labeled-only").setup
    batches = LabeledBatches(setup, 4)
    seen = torch.cat([batches.next().index for _ in range(6)])
    labeled = setup.train_set.labeled.nonzero().squeeze(1)
    for turn in seen.split(12):
        assert torch.equal(turn.sort().values, labeled)
    assert not torch.equal(*seen.split(12))


def test_a_batch_larger_than_all_of_them_repeats_them(few):
    batch = LabeledBatches(few("labeled-only").setup, 30).next()
    assert len(batch) == 30
    assert sorted(batch.index.bincount().unique().tolist()) == [0, 2, 3]
    assert int(batch.labels.min()) == 0


def test_a_saved_order_goes_on(few):
    first, second = (LabeledBatches(few("labeled-only").setup, 5) for _ in range(2))
    first.next()
    second.load_state_dict(first.state_dict())
    assert torch.equal(first.next().index, second.next().index)


def test_without_any_label_there_is_nothing_to_learn_from(few):
    setup = few("labeled-only").setup
    setup.train_set.labels.fill_(-1)
    with pytest.raises(DataError, match="no sample has a label, all are -1; label a few of each class"):
        LabeledBatches(setup, 4)


def test_pseudo_labels_are_remembered_and_judged(few):
    data = few("labeled-only").data
    seen = Guesses(data)
    place = (~data.labeled).nonzero().squeeze(1)[:4]
    right = data.true_labels[place]
    guesses = torch.stack([right[0], right[1], (right[2] + 1) % 3, (right[3] + 2) % 3])
    numbers = seen.note(place, guesses, torch.tensor([1.0, 0.5, 0.25, 0.25]))
    assert numbers == {"weight": 0.5, "pseudo_right": 0.5, "pseudo_right_weight": 0.375}
    assert seen.labels[place].tolist() == guesses.tolist()
    assert (seen.labels >= 0).sum() == 4
    seen.note(data.labeled.nonzero().squeeze(1)[:1], right[:1], torch.ones(1))
    assert seen.weights.isnan().sum() == 26  # what a labeled sample has weighed is not its label


def test_each_comes_once_before_any_comes_again():
    order = EndlessOrder(torch.tensor([3, 5, 7, 11, 13]), torch.Generator().manual_seed(0))
    seen = torch.cat([order.next(size) for size in (2, 4, 1, 8)])
    for turn in seen.split(5):
        assert turn.sort().values.tolist() == [3, 5, 7, 11, 13]
    assert len({tuple(turn.tolist()) for turn in seen.split(5)}) > 1


def test_another_pool_begins_another_order():
    order = EndlessOrder(torch.arange(5), torch.Generator())
    order.next(2)
    order.restart(torch.tensor([8, 9]))
    assert order.next(2).sort().values.tolist() == [8, 9]


def test_a_saved_endless_order_goes_on():
    first, second = (EndlessOrder(torch.arange(9), torch.Generator().manual_seed(0)) for _ in range(2))
    first.next(4)
    second.load_state_dict(first.state_dict())
    assert torch.equal(first.next(5), second.next(5))
