"""Prior correction against the formula, sample by sample."""

import math

import pytest
import torch

from reweigh.losses import LOSSES
from reweigh.losses.class_sizes import log_shares, prior_corrected

SIZES = torch.tensor([60, 30, 10])


@pytest.mark.parametrize("name", ["cross-entropy", "gce"])
def test_a_loss_sees_logits_with_the_log_shares(name) -> None:
    logits, labels = torch.randn(5, 3, generator=torch.Generator().manual_seed(0)), torch.tensor([0, 1, 2, 2, 0])
    found = prior_corrected(LOSSES[name], SIZES)(logits, labels)
    for i in range(5):
        shifted = [value + math.log(size / 100) for value, size in zip(logits[i].tolist(), SIZES.tolist(), strict=True)]
        p = math.exp(shifted[labels[i]]) / sum(map(math.exp, shifted))
        expected = -math.log(p) if name == "cross-entropy" else (1 - p**0.7) / 0.7
        assert float(found[i]) == pytest.approx(expected, rel=1e-4)


def test_an_empty_class_has_a_finite_share() -> None:
    assert torch.isfinite(log_shares(torch.tensor([3.0, 0.0]))).all()


def test_bare_logits_learn_balanced_odds() -> None:
    """On one constant input, the optimum of the corrected loss has equal logits whatever the class shares."""
    labels = torch.repeat_interleave(torch.arange(3), SIZES)
    logits = torch.zeros(3, requires_grad=True)
    loss = prior_corrected(LOSSES["cross-entropy"], SIZES)
    loss(logits.expand(100, 3), labels).mean().backward()
    assert logits.grad is not None
    torch.testing.assert_close(logits.grad, torch.zeros(3), atol=1e-5, rtol=0)
