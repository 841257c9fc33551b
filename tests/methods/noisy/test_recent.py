"""The predictions of the last epochs: older ones are forgotten, samples that were not seen do not count."""

import torch

from reweigh.methods.noisy.relabeling import RecentPredictions


def test_the_mean_of_the_last_two_of_three_epochs():
    recent = RecentPredictions(3, 2, epochs=2)
    rows = torch.rand(3, 3, 2)
    for epoch in range(3):
        recent.start_epoch()
        recent.note(torch.tensor([0, 1]) if epoch == 1 else torch.arange(3), rows[epoch][: 2 if epoch == 1 else 3])
    mean, times = recent.mean()
    assert times.tolist() == [2, 2, 1]
    torch.testing.assert_close(mean[:2], (rows[1, :2] + rows[2, :2]) / 2, atol=1e-3, rtol=0)
    torch.testing.assert_close(mean[2], rows[2, 2], atol=1e-3, rtol=0)


def test_nothing_was_seen():
    mean, times = RecentPredictions(3, 2, epochs=2).mean()
    assert (mean == 0).all()
    assert (times == 0).all()
