import pytest
import torch

from reweigh.bias.open_set import open_set


@pytest.mark.parametrize("rate", [0.0, 0.4, 1.0])
def test_exactly_the_share_is_replaced_and_no_label_changes(rate, ten_classes, matrix_within_binomial):
    found = open_set(ten_classes, 10, 0, rate=rate)
    assert int(found.replaced.sum()) == round(rate * len(ten_classes))
    assert torch.equal(found.flipped, found.replaced)
    assert found.rate == pytest.approx(rate)
    assert torch.equal(found.labels, ten_classes)
    assert torch.equal(found.transition, torch.eye(10).double())


def test_all_classes_are_hit_alike(ten_classes, within_binomial):
    found = open_set(ten_classes, 10, 0, rate=0.4)
    assert all(within_binomial(int(found.replaced[ten_classes == c].sum()), 4000, 0.4) for c in range(10))


def test_seeded(ten_classes):
    first, again, other = (open_set(ten_classes, 10, seed, rate=0.4).replaced for seed in (0, 0, 1))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
