"""Labels that a person has checked: every method trains with them, and those with a meta set trust them."""

from dataclasses import replace

import pytest
import torch

from reweigh.data import from_arrays
from reweigh.fit import fit
from reweigh.meta_sets import LowestLoss
from reweigh.methods.parts.batches import Trusted
from reweigh.plan.check import examine
from reweigh.plan.choose import Facts, chosen


@pytest.fixture(scope="module")
def train_set():
    """Two blobs of 120; the first ten labels are wrong, and checked: they stay as they are."""
    generator = torch.Generator().manual_seed(0)
    true = torch.arange(240) % 2
    inputs = torch.randn(240, 4, generator=generator) * 0.3 + true[:, None]
    labels = torch.where(torch.arange(240) < 10, 1 - true, true)
    found = from_arrays(inputs.numpy(), labels, class_names=["a", "b"])
    return replace(found, trusted=torch.arange(240) < 10)


@pytest.mark.parametrize("method", ["two-looks", "cmw-net", "erm"])
def test_a_person_has_the_last_word(train_set, method):
    plan, mistakes = examine(
        chosen(Facts.of(train_set), {"method": {"name": method}, "train": {"epochs": 6}}), ["data"]
    )
    assert plan is not None, mistakes
    found = fit(train_set, plan)
    assert (found.samples.quality[:10] == 1).all()
    assert not found.samples.wrong[:10].any()
    assert torch.equal(found.samples.suggested[:10], train_set.labels[:10])
    unchecked = fit(replace(train_set, trusted=None), plan)
    assert (unchecked.samples.quality[:10] < 0.9).any()


def test_checked_samples_join_the_meta_set(train_set):
    from types import SimpleNamespace

    setup = SimpleNamespace(
        clean_set=None,
        train_set=train_set,
        meta_set=LowestLoss(per_class=3),
        generator=torch.Generator().manual_seed(0),
        model=None,
        losses=lambda model: torch.where(torch.arange(240) < 10, 9.0, torch.arange(240) / 240),
        never_weighed=lambda: torch.full((240,), torch.nan),
    )
    trusted = Trusted(setup)
    trusted.refresh()
    assert sorted(trusted.chosen.tolist()) == list(range(16))
