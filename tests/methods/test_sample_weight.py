"""Given sample weights multiply what a method makes of each sample; all ones change nothing."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from reweigh.core.objective import Batch, mixed_soft_labels, reweighted, soft_labels
from reweigh.losses import LOSSES

LOSS = LOSSES["cross-entropy"]
G = torch.Generator().manual_seed(0)
LOGITS = torch.randn(6, 3, generator=G, dtype=torch.float64)
LABELS = torch.tensor([0, 1, 2, 0, 1, 2])
PSEUDO = torch.randn(6, 3, generator=G, dtype=torch.float64).softmax(1)
PARTNER = torch.tensor([3, 0, 1, 2, 5, 4])
V = torch.rand(12, generator=G, dtype=torch.float64)
SCALE = torch.tensor([0.0, 1.0, 2.0, 0.5, 3.0, 1.0], dtype=torch.float64)


def value(objective, weights: Tensor) -> float:
    terms = objective(lambda inputs: inputs)
    return float(weights @ terms.coefficients / terms.size + terms.rest)


def test_a_sample_counts_as_often_as_it_is_told() -> None:
    losses = LOSS(LOGITS, LABELS)
    corrected = LOSS(LOGITS, PSEUDO)
    by_hand = sum(float(SCALE[i] * V[i] * losses[i]) for i in range(6)) / 6
    assert value(reweighted(LOSS, LOGITS, LABELS, SCALE), V[:6]) == pytest.approx(by_hand)
    by_hand = sum(float(SCALE[i] * (V[i] * losses[i] + (1 - V[i]) * corrected[i])) for i in range(6)) / 6
    assert value(soft_labels(LOSS, LOGITS, LABELS, PSEUDO, SCALE), V[:6]) == pytest.approx(by_hand)


def test_in_a_mixed_pair_each_half_counts_as_its_sample_does() -> None:
    share = 0.7
    mixed = share * LOGITS + (1 - share) * LOGITS[PARTNER]
    by_hand = 0.0
    for i in range(6):
        for part, who, weight in ((share, i, V[i]), (1 - share, int(PARTNER[i]), V[6 + i])):
            given, corrected = (
                LOSS(mixed[i : i + 1], LABELS[who : who + 1]),
                LOSS(mixed[i : i + 1], PSEUDO[who : who + 1]),
            )
            by_hand += float(part * SCALE[who] * (weight * given + (1 - weight) * corrected)) / 6
    assert value(mixed_soft_labels(LOSS, LOGITS, LABELS, PSEUDO, PARTNER, share, SCALE), V) == pytest.approx(by_hand)


def test_the_weight_net_reads_losses_as_they_are() -> None:
    assert torch.equal(reweighted(LOSS, LOGITS, LABELS, SCALE)(lambda x: x).losses, LOSS(LOGITS, LABELS))


def test_weights_stay_with_their_samples() -> None:
    batch = Batch(LOGITS, LABELS, torch.arange(6), SCALE)
    kept = batch.where(LABELS == 2)
    assert torch.equal(kept.weighted(torch.ones(2)), SCALE[LABELS == 2])
    plain = replace(batch, weights=None)
    assert torch.equal(plain.weighted(LOGITS[:, 0]), LOGITS[:, 0])
    assert plain.scale == 1.0
