"""Self-adaptive training by hand: plain at first, then targets that follow predictions, weighted by confidence."""

import pytest
import torch


def test_epochs_by_hand(tiny, by_hand):
    problem = tiny("self-adaptive", start=0.2, momentum=0.7)  # 2 of 8 epochs are plain
    slow = by_hand(problem.model)
    targets = torch.eye(3, dtype=torch.float64)[problem.data.labels]
    for epoch in range(4):
        problem.epoch(epoch)
        for batch in problem.batches:
            if epoch < 2:
                slow.step(batch, lambda row, label, place: -row.log_softmax(0)[label])
                continue
            for sample, place in zip(batch.inputs, batch.index.tolist(), strict=True):
                targets[place] = 0.7 * targets[place] + 0.3 * slow.logits(sample).softmax(0).detach()
            sure = sum(float(targets[place].max()) for place in batch.index.tolist())
            slow.step(batch, lambda row, _, i: -targets[i].max() * (targets[i] * row.log_softmax(0)).sum(), size=sure)
    torch.testing.assert_close(problem.model.weight, slow.weight, atol=1e-6, rtol=0)
    assert torch.equal(problem.method._targets.labels(), targets.argmax(1))


def test_without_a_start_it_is_not_plain(like_erm):
    like_erm("self-adaptive", exactly=True, start=1.0)
    with pytest.raises(AssertionError):
        like_erm("self-adaptive", start=0.0)
