import pytest
import torch

from reweigh.bias.symmetric import open_set, symmetric, symmetric_others


@pytest.mark.parametrize("rate", [0.0, 0.2, 0.4, 0.8, 1.0])
def test_over_all_classes_the_true_noise_is_lower(rate, ten_classes, within_binomial, matrix_within_binomial):
    found = symmetric(ten_classes, 10, 3, rate=rate)
    drawn = round(rate * len(ten_classes))
    assert within_binomial(int(found.flipped.sum()), drawn, 0.9)
    wanted = torch.full((10, 10), rate / 10) + torch.eye(10) * (1 - rate)
    assert matrix_within_binomial(found, ten_classes, wanted)


@pytest.mark.parametrize("rate", [0.0, 0.2, 0.4, 0.8, 1.0])
def test_over_other_classes_the_rate_is_exact(rate, ten_classes, matrix_within_binomial):
    found = symmetric_others(ten_classes, 10, 3, rate=rate)
    assert found.rate == pytest.approx(rate, abs=1e-12)
    wanted = torch.full((10, 10), rate / 9)
    wanted.fill_diagonal_(1 - rate)
    assert matrix_within_binomial(found, ten_classes, wanted)


@pytest.mark.parametrize("bias", [symmetric, symmetric_others])
def test_pure_and_seeded(bias, ten_classes):
    before = ten_classes.clone()
    first, again, other = (bias(ten_classes, 10, seed, rate=0.4) for seed in (7, 7, 8))
    assert torch.equal(ten_classes, before)
    assert torch.equal(first.labels, again.labels)
    assert not torch.equal(first.labels, other.labels)
    assert torch.equal(first.flipped, first.labels != before)
    assert first.index.tolist() == list(range(len(before)))


@pytest.mark.parametrize("bias", [symmetric, symmetric_others])
def test_the_global_generators_are_left_alone(bias, ten_classes):
    torch.manual_seed(0)
    state = torch.random.get_rng_state()
    bias(ten_classes, 10, 0, rate=0.5)
    assert torch.equal(torch.random.get_rng_state(), state)


def test_the_shares_are_those_of_the_paper_on_tenths():
    labels = torch.arange(100) % 10
    assert int(symmetric_others(labels, 10, 0, rate=0.29).flipped.sum()) == 29  # int(0.29 * 100) is 28


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
