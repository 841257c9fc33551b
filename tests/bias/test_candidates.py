import tracemalloc

import numpy as np
import pytest
import torch

from reweigh.bias import CANDIDATES
from reweigh.errors import DataError


@pytest.mark.parametrize("name", CANDIDATES)
@pytest.mark.parametrize("q", [0.0, 0.1, 0.7, 1.0])
def test_the_true_label_is_always_a_candidate(name, q, ten_classes):
    candidates = CANDIDATES[name](ten_classes, 10, 0, q=q)[:]
    assert candidates.gather(1, ten_classes[:, None]).all()


@pytest.mark.parametrize("q", [0.0, 0.1, 0.3, 0.7, 1.0])
def test_independent_flips_and_at_least_one_false_candidate(q, ten_classes, within_binomial):
    candidates = CANDIDATES["independent"](ten_classes, 10, 0, q=q)[:]
    assert candidates.sum(1).min() >= 2
    # a false label is in by its own flip, or as the one that is added to a sample without any
    wanted = q + (1 - q) ** 9 / 9
    for true in range(10):
        for other in range(10):
            if other != true:
                count = int(candidates[ten_classes == true][:, other].sum())
                assert within_binomial(count, 4000, min(wanted, 1.0))


def test_false_candidates_are_independent_of_each_other(ten_classes):
    candidates = CANDIDATES["independent"](ten_classes, 10, 0, q=0.5)[ten_classes == 0][:, 1:].double()
    correlations = torch.corrcoef(candidates.T) - torch.eye(9)
    assert correlations.abs().max() < 0.08


@pytest.mark.parametrize("q", [0.0, 0.3, 1.0])
def test_pairs_add_the_next_class_only(q, ten_classes, within_binomial):
    candidates = CANDIDATES["pairs"](ten_classes, 10, 0, q=q)[:]
    for true in range(10):
        counts = candidates[ten_classes == true].sum(0).tolist()
        assert counts.pop(true) == 4000
        assert within_binomial(counts.pop(true if true < 9 else 0), 4000, q)
        assert sum(counts) == 0


@pytest.mark.parametrize("q", [0.0, 0.2, 0.9])
def test_independent_draws_by_parts_what_a_whole_mask_would_be(q, monkeypatch):
    monkeypatch.setattr("reweigh.core.candidates.MASK_VALUES_AT_ONCE", 36)  # five samples
    labels = torch.arange(23) * 5 % 7
    generator = np.random.default_rng(3)
    mask = generator.random((23, 7)) < q
    mask[range(23), labels] = False
    alone = ~mask.any(1)
    mask[alone, (labels.numpy()[alone] + generator.integers(1, 7, alone.sum())) % 7] = True
    mask[range(23), labels] = True
    sets = CANDIDATES["independent"](labels, 7, 3, q=q)
    assert sets.tolist() == [np.flatnonzero(row).tolist() for row in mask]


def test_random_numbers_are_never_there_for_all_samples_and_classes_at_once():
    tracemalloc.start()
    try:
        sets = CANDIDATES["independent"](torch.arange(2000), 20_000, 0, q=0.0001)  # 320 MB of random numbers
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert 4000 <= len(sets.classes) < 9000
    assert peak < 150e6


@pytest.mark.parametrize("name", CANDIDATES)
def test_seeded(name, ten_classes):
    first, again, other = (CANDIDATES[name](ten_classes, 10, seed, q=0.4)[:] for seed in (0, 0, 1))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


@pytest.mark.parametrize("name", CANDIDATES)
def test_bad_arguments(name):
    with pytest.raises(DataError, match=r"q: 1\.5 is not a share"):
        CANDIDATES[name](torch.tensor([0, 1]), 2, 0, q=1.5)
    with pytest.raises(DataError, match="two classes or more"):
        CANDIDATES[name](torch.tensor([0, 0]), 1, 0, q=0.5)
