"""Choices by the size of the data are sensible everywhere."""

from math import ceil

import pytest
import torch

from reweigh.plan.choose import (
    default_batch_size,
    default_epochs,
    default_module,
    trusted_per_class,
    warm_up_epochs,
)


@pytest.mark.parametrize("samples", [2, 3, 17, 60, 200, 999, 5000, 100_000, 10**7])
def test_batches_and_epochs(samples):
    batch = default_batch_size(samples)
    assert min(16, samples) <= batch <= min(256, samples)
    epochs = default_epochs(samples, batch)
    assert 20 <= epochs <= 50
    assert ceil(samples / batch) * epochs >= min(1000, 40 * samples / batch)
    assert default_batch_size(samples + 1) >= batch


@pytest.mark.parametrize(("epochs", "warm_up"), [(1, 0), (2, 1), (10, 1), (50, 5), (200, 20)])
def test_the_warm_up_is_a_tenth_but_never_all(epochs, warm_up):
    assert warm_up_epochs(epochs) == warm_up


@pytest.mark.parametrize(
    ("sizes", "each"), [([5000, 5000], 10), ([8, 8], 4), ([1, 1], 1), ([2, 100, 100], 10), ([0, 6, 6], 3)]
)
def test_few_of_each_class_are_trusted(sizes, each):
    assert trusted_per_class(torch.tensor(sizes)) == each


def test_a_module_for_each_shape():
    assert default_module((3, 32, 32), 1000)[0] == "cnn"
    assert default_module((1, 2, 2), 1000)[0] == "mlp"  # too small to convolve
    assert default_module((20, 5), 1000)[0] == "mlp"
    widths = [default_module((30,), samples)[1]["hidden"][0] for samples in (20, 5000, 100_000)]
    assert widths == sorted(widths)
    assert default_module((200_000,), 100_000)[1]["hidden"][0] * 200_000 <= 4_000_000
