"""MentorNet's curriculum by hand: a bar that follows a percentile, samples above it are left out."""

import numpy as np
import pytest


def test_epochs_by_hand(tiny, by_hand):
    problem = tiny("mentornet", percentile=0.6, decay=0.9)
    slow = by_hand(problem.model)
    bar = None
    for epoch in range(3):
        problem.epoch(epoch, warm_up=epoch == 0)
        for batch in problem.batches:
            rows = zip(batch.inputs, batch.labels.tolist(), strict=True)
            losses = [(-slow.logits(x).log_softmax(0)[label]).item() for x, label in rows]
            latest = float(np.quantile(losses, 0.6))
            bar = latest if bar is None else 0.9 * bar + 0.1 * latest
            easy = [float(epoch == 0 or loss <= bar) for loss in losses]
            weight = dict(zip(batch.index.tolist(), easy, strict=True))
            slow.step(batch, lambda row, label, i, weight=weight: -weight[i] * row.log_softmax(0)[label])
    slow.check(problem.model)
    assert problem.method.sample_weights().isfinite().all()


def test_all_of_a_batch_is_plain_training(like_erm):
    like_erm("mentornet", percentile=1.0, decay=0.0)
    with pytest.raises(AssertionError):
        like_erm("mentornet")
