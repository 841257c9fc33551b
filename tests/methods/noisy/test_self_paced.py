"""Self-paced learning by hand: who is admitted, and when."""

from math import ceil, inf

import pytest
import torch


def loss_of(row, label, place=0):
    return -row.log_softmax(0)[label]


def slow_losses(slow, data):
    return [loss_of(slow.logits(x), y).item() for x, y in zip(data.inputs.double(), data.labels.tolist(), strict=True)]


@pytest.mark.parametrize("warm_up_epochs", [0, 1, 2])
def test_the_threshold_admits_a_share_and_grows(tiny, by_hand, warm_up_epochs):
    problem = tiny("self-paced", start=0.3, growth=1.2)
    slow = by_hand(problem.model)
    threshold, seen = inf, []
    for epoch in range(5):
        problem.epoch(epoch, epoch < warm_up_epochs)
        losses = slow_losses(slow, problem.data)
        if epoch == max(warm_up_epochs, 1):
            threshold = sorted(losses)[ceil(0.3 * 20) - 1]
        elif epoch > max(warm_up_epochs, 1):
            threshold *= 1.2
        admitted = [loss <= threshold for loss in losses]
        for batch in problem.batches:
            slow.step(batch, lambda row, label, place: admitted[place] * loss_of(row, label))  # noqa: B023
        slow.check(problem.model)
        if threshold < inf:
            assert problem.method.sample_weights().tolist() == admitted
            seen.append(sum(admitted))
        else:
            assert problem.method.sample_weights().isnan().all()
    assert seen[0] == 6
    assert 6 < seen[-1] < 20


def test_all_admitted_is_plain_training(like_erm):
    like_erm("self-paced", exactly=True, start=1.0, growth=3.0)
    like_erm("self-paced", exactly=True, warm_up=True)
    with pytest.raises(AssertionError):
        like_erm("self-paced")


def test_the_mean_weight_is_logged(tiny):
    problem = tiny("self-paced", start=0.5)
    problem.epoch(0)
    assert problem.method.step(problem.batches[0])["weight"] == 1
    problem.method.start_epoch(1, warm_up=False)
    weights = problem.method.sample_weights()
    assert problem.method.step(problem.batches[0])["weight"] == pytest.approx(float(weights[:12].mean()))
    assert torch.equal(weights.unique(), torch.tensor([0.0, 1.0]))
