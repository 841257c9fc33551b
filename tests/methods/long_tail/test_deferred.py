"""Deferred reweighting: plain during the warm-up, then a weighted mean over each batch, by hand."""

from dataclasses import replace

import pytest
import torch

SIZES = [10, 6, 4]
WEIGHTS = [1 / sum(0.99**k for k in range(size)) for size in SIZES]


def ldam(row, label, place):
    margin = 0.7 * (4 / SIZES[label]) ** 0.25
    return -(row - margin * torch.eye(3, dtype=row.dtype)[label]).log_softmax(0)[label]


def reweighted(row, label, place):
    return WEIGHTS[label] * ldam(row, label, place)


def total(batch):
    return sum(WEIGHTS[label] for label in batch.labels.tolist())


def test_reweighting_begins_when_the_warm_up_ends(tiny, by_hand):
    problem = tiny("ldam-drw", max_margin=0.7, beta=0.99)
    slow = by_hand(problem.model)
    problem.epoch(0, warm_up=True)
    for batch in problem.batches:
        slow.step(batch, ldam)
    slow.check(problem.model)
    problem.epoch(1)
    for batch in problem.batches:
        slow.step(batch, reweighted, size=total(batch))
    slow.check(problem.model)


def test_without_a_warm_up_it_begins_at_once(tiny, by_hand):
    problem = tiny("ldam-drw", max_margin=0.7, beta=0.99)
    slow = by_hand(problem.model)
    problem.epoch(0)
    for batch in problem.batches:
        slow.step(batch, reweighted, size=total(batch))
    slow.check(problem.model)


def test_soft_labels_and_given_weights(tiny, by_hand):
    problem = tiny("ldam-drw", max_margin=0.7, beta=0.99)
    slow = by_hand(problem.model)
    rows = torch.eye(3, dtype=torch.float64)[problem.batches[0].labels]
    batch = replace(problem.batches[0], weights=torch.arange(12).double())
    problem.method.start_epoch(0, warm_up=False)
    problem.method.step(replace(batch, labels=rows))
    slow.step(batch, lambda row, label, place: place * reweighted(row, label, place), size=total(batch))
    slow.check(problem.model)


def test_no_margin_and_no_reweighting_is_plain_training(like_erm):
    like_erm("ldam-drw", max_margin=0.0, warm_up=True)
    like_erm("ldam-drw", max_margin=0.0, beta=0.0)
    with pytest.raises(AssertionError):
        like_erm("ldam-drw", max_margin=0.0)
