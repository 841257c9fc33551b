"""Mixup against its definition."""

import torch

from reweigh.pseudo_labels import draw, draw_each


def test_inputs_and_labels_mix_alike() -> None:
    generator = torch.Generator().manual_seed(0)
    inputs, labels = torch.rand(6, 3), torch.tensor([0, 1, 2, 0, 1, 2])
    mix = draw(6, 1.0, generator)
    for i, j in enumerate(mix.partner.tolist()):
        torch.testing.assert_close(mix.inputs(inputs)[i], mix.share * inputs[i] + (1 - mix.share) * inputs[j])
        row = torch.zeros(3)
        row[labels[i]] += mix.share
        row[labels[j]] += 1 - mix.share
        torch.testing.assert_close(mix.labels(labels, 3)[i], row)


def test_the_share_is_the_larger_part_of_a_beta_variable() -> None:
    generator = torch.Generator().manual_seed(0)
    shares = torch.tensor([draw(2, 1.0, generator).share for _ in range(4000)])
    assert float(shares.min()) >= 0.5
    assert abs(float(shares.mean()) - 0.75) < 0.01  # of max(u, 1 - u) with u uniform
    strong = torch.tensor([draw(2, 50.0, generator).share for _ in range(500)])
    weak = torch.tensor([draw(2, 0.05, generator).share for _ in range(500)])
    assert float(strong.mean()) < 0.6 < 0.9 < float(weak.mean())


def test_reproducible() -> None:
    first, second = (draw(5, 0.4, torch.Generator().manual_seed(3)) for _ in range(2))
    assert first.share == second.share
    assert torch.equal(first.partner, second.partner)


def test_each_sample_can_have_a_share_of_its_own() -> None:
    inputs, labels = torch.rand(6, 3, 2), torch.tensor([0, 1, 2, 0, 1, 2])
    mix = draw_each(6, 1.0, torch.Generator().manual_seed(0))
    assert mix.share.unique().numel() == 6
    assert float(mix.share.min()) >= 0.5
    rows = torch.eye(3)[labels]
    for i, j in enumerate(mix.partner.tolist()):
        share = float(mix.share[i])
        torch.testing.assert_close(mix.inputs(inputs)[i], share * inputs[i] + (1 - share) * inputs[j])
        torch.testing.assert_close(mix.labels(labels, 3)[i], share * rows[i] + (1 - share) * rows[j])
        torch.testing.assert_close(mix.labels(rows, 3)[i], share * rows[i] + (1 - share) * rows[j])
