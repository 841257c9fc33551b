import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reweigh.errors import DataError
from reweigh.training.batches import batch_bounds


@given(samples=st.integers(1, 300), batch_size=st.integers(1, 310))
def test_every_sample_once_and_no_batch_of_one(samples, batch_size):
    batches = [range(*bounds) for bounds in batch_bounds(samples, batch_size)]
    assert [place for batch in batches for place in batch] == list(range(samples))
    sizes = [len(batch) for batch in batches]
    assert all(size == min(batch_size, samples) for size in sizes[:-1])
    assert sizes[-1] <= batch_size + 1
    assert batch_size == 1 or samples == 1 or min(sizes) > 1


def test_a_single_sample_joins_the_batch_before():
    assert batch_bounds(9, 4) == [(0, 4), (4, 9)]
    assert batch_bounds(10, 4) == [(0, 4), (4, 8), (8, 10)]
    assert batch_bounds(3, 1) == [(0, 1), (1, 2), (2, 3)]


def test_batch_larger_than_the_dataset(caplog):
    with caplog.at_level(logging.WARNING):
        assert batch_bounds(9, 64) == [(0, 9)]
    assert "batch_size 64 is larger than the training set; using its 9 samples" in caplog.text


def test_no_samples():
    with pytest.raises(DataError, match="empty"):
        batch_bounds(0, 4)
