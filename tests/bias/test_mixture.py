from functools import partial

import torch

from reweigh.bias import BIASES, apply

SYMMETRIC = partial(BIASES["symmetric"], rate=0.4)
CATS = partial(BIASES["asymmetric"], rate=0.5, map={"cat": "dog"})
NAMES = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]


def test_one_bias_is_that_bias(ten_classes):
    alone = SYMMETRIC(ten_classes, 10, 6)
    found = apply([SYMMETRIC], ten_classes, 10, 6)
    assert torch.equal(found.labels, alone.labels)
    assert torch.equal(found.transition, alone.transition)


def test_no_bias_changes_nothing(ten_classes):
    found = apply([], ten_classes, 10, 6)
    assert torch.equal(found.labels, ten_classes)
    assert found.rate == 0


def test_a_sequence_is_judged_against_the_first_labels(ten_classes, matrix_within_binomial):
    found = apply([SYMMETRIC, CATS], ten_classes, 10, 6, NAMES)
    symmetric = torch.full((10, 10), 0.04) + torch.eye(10) * 0.6
    cats = torch.eye(10)
    cats[3, 3], cats[3, 5] = 0.5, 0.5
    assert matrix_within_binomial(found, ten_classes, symmetric @ cats)
    assert torch.equal(found.flipped, found.labels != ten_classes)


def test_the_same_bias_twice_draws_anew(ten_classes, within_binomial):
    others = partial(BIASES["symmetric-others"], rate=0.5)
    found = apply([others, others], ten_classes, 10, 6)
    # right: never drawn (1/4), or drawn twice (1/4) and back by chance (1/9)
    assert within_binomial(int((~found.flipped).sum()), len(ten_classes), 0.25 + 0.25 / 9)


def test_each_bias_may_have_a_seed_of_its_own(ten_classes):
    by_hand = CATS(SYMMETRIC(ten_classes, 10, 3).labels, 10, 4, NAMES)
    assert torch.equal(apply([SYMMETRIC, CATS], ten_classes, 10, (3, 4), NAMES).labels, by_hand.labels)


def test_a_tail_then_noise_keeps_track_of_the_samples(ten_classes):
    tail = partial(BIASES["long-tail"], imbalance_factor=10)
    found = apply([tail, SYMMETRIC], ten_classes, 10, 0)
    assert len(found.index) == len(found.labels) < len(ten_classes)
    assert torch.equal(found.flipped, found.labels != ten_classes[found.index])


def test_a_tail_after_noise_is_cut_from_the_noisy_labels(ten_classes):
    tail = partial(BIASES["long-tail"], imbalance_factor=10)
    found = apply([SYMMETRIC, tail], ten_classes, 10, 0)
    sizes = torch.bincount(found.labels, minlength=10)
    assert sizes[0] / sizes[9] > 9.9
    assert abs(found.rate - 0.36) < 0.02


def test_replaced_inputs_follow_the_tail(ten_classes):
    open_set = partial(BIASES["open-set"], rate=0.5)
    tail = partial(BIASES["long-tail"], imbalance_factor=10)
    found = apply([open_set, tail, SYMMETRIC], ten_classes, 10, 0)
    assert torch.equal(found.replaced, open_set(ten_classes, 10, 0).replaced[found.index])
    assert torch.equal(found.flipped, found.replaced | (found.labels != ten_classes[found.index]))


def test_posteriors_follow_the_samples_that_remain(ten_classes):
    posteriors = torch.nn.functional.one_hot(ten_classes, 10) * 0.5 + 0.05
    tail = partial(BIASES["long-tail"], imbalance_factor=10)
    ambiguous = partial(BIASES["feature-dependent"], rate=0.35, kind="I")
    found = apply([tail, ambiguous], ten_classes, 10, 0, posteriors=posteriors)
    assert abs(found.rate - 0.35) < 0.02
    asked = []

    def probe(index: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        asked.append((index, labels))
        return posteriors[index]

    again = apply([tail, ambiguous], ten_classes, 10, 0, posteriors=probe)
    assert torch.equal(again.labels, found.labels)
    assert len(asked) == 1
    assert torch.equal(asked[0][1], ten_classes[asked[0][0]])
