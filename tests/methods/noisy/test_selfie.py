"""SELFIE by hand: samples of small loss with their label, steady ones with the class that is predicted."""

from math import log

import pytest
import torch

from reweigh.methods.noisy.by_loss import uncertainty


def test_uncertainty_by_a_loop():
    shares = torch.tensor([[1.0, 0.0, 0.0], [0.5, 0.25, 0.25], [1 / 3] * 3])
    expected = [-sum(p * log(p) for p in row if p > 0) / log(3) for row in shares.tolist()]
    assert uncertainty(shares).tolist() == pytest.approx(expected, abs=1e-6)


def test_a_step_by_hand(tiny, by_hand):
    problem = tiny("selfie", noise_rate=0.5, window=2, uncertainty=0.0)
    slow = by_hand(problem.model)
    seen = []
    for epoch in range(4):
        problem.epoch(epoch, warm_up=epoch == 0)
        predicted = torch.empty(20, dtype=torch.int64)
        steady = seen[-2] == seen[-1] if len(seen) >= 2 else torch.zeros(20, dtype=torch.bool)
        for batch in problem.batches:
            rows = [slow.logits(x) for x in batch.inputs]
            predicted[batch.index] = torch.tensor([int(row.argmax()) for row in rows])
            losses = [(-row.log_softmax(0)[y]).item() for row, y in zip(rows, batch.labels.tolist(), strict=True)]
            small = sorted(range(len(losses)), key=losses.__getitem__)[: round(0.5 * len(losses))]
            clean = {batch.index[place].item() for place in small}
            if epoch == 0:
                slow.step(batch, lambda row, label, i: -row.log_softmax(0)[label])
                continue
            label_of = {
                i: int(seen[-1][i]) if steady[i] else label
                for i, label in zip(batch.index.tolist(), batch.labels.tolist(), strict=True)
                if steady[i] or i in clean
            }
            slow.step(
                batch,
                lambda row, _, i, label_of=label_of: -row.log_softmax(0)[label_of[i]] if i in label_of else 0 * row[0],
                size=len(label_of),
            )
        seen.append(predicted)
        slow.check(problem.model)
    assert bool(steady.any())


def test_the_rate_is_estimated_if_it_is_not_given(tiny):
    problem = tiny("selfie")
    problem.epoch(0, warm_up=True)
    problem.epoch(1)
    assert 0 < problem.method.state_dict()["rate"] < 1
    given = tiny("selfie", noise_rate=0.25)
    given.epoch(0)
    given.epoch(1)
    assert given.method.state_dict()["rate"] == 0.25
