"""Early-learning regularization by hand: targets that start at zero and follow the predictions."""

import pytest
import torch


def test_three_epochs_by_hand(tiny, by_hand):
    problem = tiny("elr", strength=2.0, momentum=0.6)
    slow = by_hand(problem.model)
    targets = [torch.zeros(3, dtype=torch.float64) for _ in range(20)]

    def loss(row, label, place):
        p = row.softmax(0)
        targets[place] = 0.6 * targets[place] + 0.4 * p.detach()
        return -p[label].log() + 2.0 * (1 - (p * targets[place]).sum()).log()

    for epoch in range(3):
        problem.epoch(epoch, warm_up=epoch == 0)
        for batch in problem.batches:
            slow.step(batch, loss)
    torch.testing.assert_close(problem.method.state_dict()["targets"].double(), torch.stack(targets), atol=1e-6, rtol=0)
    torch.testing.assert_close(problem.model.weight, slow.weight, atol=1e-6, rtol=0)


def test_a_sure_model_is_kept_from_the_edge(tiny):
    problem = tiny("elr", momentum=0.0)
    with torch.no_grad():
        problem.model.weight.mul_(1e4)
    problem.method.start_epoch(0, warm_up=False)
    assert torch.as_tensor(problem.method.step(problem.batches[0])["loss"]).isfinite()
    assert problem.model.weight.isfinite().all()
    targets = problem.method.state_dict()["targets"][:12]
    torch.testing.assert_close(targets.sum(1), torch.ones(12))
    assert targets.min() == pytest.approx(1e-4, rel=1e-3)


def test_no_strength_is_plain_training(like_erm):
    like_erm("elr", exactly=True, strength=0.0)
    with pytest.raises(AssertionError):
        like_erm("elr")
