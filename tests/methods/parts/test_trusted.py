"""Trusted batches: their order, their size, their mixing, and going on where they were."""

from dataclasses import replace

import torch

from reweigh.meta_sets import META_SETS
from reweigh.methods.parts.batches import Trusted


def _trusted(tiny, **options) -> Trusted:
    setup = replace(tiny("erm").setup, meta_set=META_SETS["lowest-loss"](per_class=5, **options))
    setup.generator.manual_seed(1)
    trusted = Trusted(setup)
    trusted.refresh()
    return trusted


def _rows(tiny, inputs) -> list[int]:
    everything = tiny("erm").data.batch(torch.arange(20)).inputs
    return [int((everything == row).all(1).nonzero()) for row in inputs]


def test_each_trusted_sample_comes_once_before_any_comes_again(tiny):
    trusted = _trusted(tiny, mixup=False, batch_size=7)
    assert len(trusted.chosen) == 14  # a class of four gives what it has
    seen = _rows(tiny, torch.cat([trusted.next(64)[0] for _ in range(4)]))
    assert sorted(seen[:14]) == sorted(seen[14:]) == trusted.chosen.tolist()
    assert seen[:14] != seen[14:]


def test_a_trusted_batch_is_no_larger_than_the_set(tiny):
    assert len(_trusted(tiny, mixup=False).next(64)[0]) == 14
    assert len(_trusted(tiny, mixup=False).next(4)[0]) == 4


def test_mixed_batches_have_soft_labels(tiny):
    _, labels = _trusted(tiny, mixup=True).next(64)
    assert labels.shape == (14, 3)
    torch.testing.assert_close(labels.sum(1), torch.ones(14))
    assert labels.unique().numel() > 2


def test_goes_on_where_it_was(tiny):
    first, second = _trusted(tiny, mixup=False, batch_size=5), _trusted(tiny, mixup=False, batch_size=5)
    first.next(64)
    second.load_state_dict(first.state_dict())
    second._setup.generator.set_state(first._setup.generator.get_state())
    for _ in range(5):
        assert torch.equal(first.next(64)[0], second.next(64)[0])
