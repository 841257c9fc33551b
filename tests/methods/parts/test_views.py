"""Strong views: of images only, drawn from the given generator, in the middle between transforms and normalization."""

from dataclasses import replace

import pytest
import torch

from reweigh.data import Dataset
from reweigh.errors import DataError
from reweigh.methods import build
from reweigh.methods.parts.batches import StrongView

pytest.importorskip("kornia")


@pytest.mark.parametrize("name", ["fixmatch", "fixmatch+cmw-net", "uda"])
def test_a_table_is_refused_and_an_alternative_named(few, name):
    setup = few("labeled-only").setup
    table = Dataset(torch.randn(30, 16), setup.train_set.labels, ("a", "b", "c"))
    with pytest.raises(DataError, match=r"images.*shape \(16,\); use method 'pseudo-label' or 'mean-teacher'"):
        build(name, replace(setup, train_set=table))
    for alternative in ("pseudo-label", "mean-teacher", "pi-model", "mixmatch"):
        build(alternative, replace(setup, train_set=table))


def test_views_come_from_the_generator_and_the_transforms_of_the_recipe(few):
    setup = few("labeled-only").setup
    index = torch.arange(30)
    first, again, later = (StrongView(setup, "x", 10)(_reseeded(setup, seed, index)) for seed in (1, 1, 2))
    assert torch.equal(first, again)
    assert not torch.equal(first, later)
    assert first.dtype == torch.float64  # normalized as every batch
    black = replace(setup, augment=lambda images, generator: torch.zeros_like(images))
    views = StrongView(black, "x", 1)(index)
    assert float((views == views[:, :, :1, :1]).double().mean()) > 0.3  # nothing is left of the images but cuts


def test_half_the_side_is_cut_out(few):
    setup = few("labeled-only").setup
    views = StrongView(setup, "x", 10)(torch.arange(30))
    covered = (views == 0.5).sum((1, 2, 3))
    assert int(covered.max()) >= 4
    assert int((covered > 0).sum()) == 30


@pytest.mark.parametrize(("low", "span"), [(0, 255), (-2, 5)])
def test_floats_of_any_range_are_distorted_as_images_in_0_to_1(few, low, span):
    setup = few("labeled-only").setup
    images = torch.rand(30, 1, 8, 8, generator=torch.Generator().manual_seed(0))
    images[0, 0, 0, :2] = torch.tensor([0.0, 1.0])
    labels = setup.train_set.labels
    unit, other = (Dataset(each, labels, ("a", "b", "c")) for each in (images, low + span * images))
    index = torch.arange(30)
    expected = StrongView(replace(setup, train_set=unit), "x", 10)(_reseeded(setup, 1, index))
    found = StrongView(replace(setup, train_set=other), "x", 10)(_reseeded(setup, 1, index))
    close = ((found - low) / span - expected).abs() < 0.02  # some distortions round to 256 levels
    assert float(close.float().mean()) > 0.97


def _reseeded(setup, seed, index):
    setup.generator.manual_seed(seed)
    return index
