import numpy as np
import pytest
import torch

from reweigh.data import from_arrays
from reweigh.errors import DataError

LABELS = np.array([0, 1, 2, 0, 1, 2])


@pytest.mark.parametrize(("shape", "kind", "expected"), [
    ((6, 4), np.float64, (4,)),
    ((6, 4), np.int32, (4,)),
    ((6, 4), np.uint8, (4,)),
    ((6, 5, 4), np.uint8, (1, 5, 4)),
    ((6, 5, 4), np.float32, (5, 4)),
    ((6, 3, 5, 4), np.uint8, (3, 5, 4)),
    ((6, 5, 4, 3), np.uint8, (3, 5, 4)),
    ((6, 5, 4, 1), np.float32, (1, 5, 4)),
])  # fmt: skip
def test_shapes_and_types(shape, kind, expected):
    inputs = np.arange(np.prod(shape)).reshape(shape).astype(kind)
    data = from_arrays(inputs, LABELS)
    assert data.shape == expected
    assert data.inputs.dtype == (torch.uint8 if kind == np.uint8 else torch.float32)


def test_channels_move_with_their_pixels():
    inputs = np.random.default_rng(0).integers(0, 256, (6, 5, 4, 3), dtype=np.uint8)
    assert np.array_equal(from_arrays(inputs, LABELS).inputs.numpy(), inputs.transpose(0, 3, 1, 2))


def test_features_are_normalized_by_column():
    inputs = np.random.default_rng(0).normal([5, -100], [0.1, 30], (6, 2))
    batch = from_arrays(inputs, LABELS).batch(torch.arange(6)).inputs
    torch.testing.assert_close(batch.mean(0), torch.zeros(2), atol=1e-4, rtol=0)
    torch.testing.assert_close(batch.std(0, correction=0), torch.ones(2), atol=1e-3, rtol=0)


def test_the_users_arrays_are_not_changed():
    inputs = np.random.default_rng(0).normal(size=(6, 2)).astype(np.float32)
    before, labels = inputs.copy(), LABELS.copy()
    data = from_arrays(inputs, labels)
    data.batch(torch.arange(6), lambda batch, generator: batch.zero_())
    assert np.array_equal(inputs, before)
    assert np.array_equal(labels, LABELS)


def test_lists_and_read_only_arrays():
    inputs = np.zeros((6, 2))
    inputs.setflags(write=False)
    assert len(from_arrays(inputs, LABELS)) == len(from_arrays(inputs.tolist(), LABELS.tolist())) == 6


@pytest.mark.parametrize(("inputs", "labels", "message"), [
    (np.zeros((5, 2)), LABELS, "inputs: 5 for 6 labels"),
    ([[1, 2], [3]] * 3, LABELS, r"inputs do not form an array .*give all samples the same shape"),
    (np.zeros(6), LABELS, r"inputs of shape \(6,\)"),
    (np.array([["a"]] * 6), LABELS, "inputs of type <U1; give numbers, or read strings and categories as a table"),
    (np.zeros((6, 2)), np.zeros(6, int), "only one class, '0', in 6 samples"),
    (np.full((6, 2), np.nan), LABELS, "NaN in 6 of 6 samples: rows 0, 1, 2, 3, 4 and 1 more"),
    (np.full((6, 2), 1e300), LABELS, r"column 0 has values up to 1.0e\+300; divide it"),
])  # fmt: skip
@pytest.mark.filterwarnings("ignore:overflow encountered in cast")
def test_bad_arrays(inputs, labels, message):
    with pytest.raises(DataError, match=message):
        from_arrays(inputs, labels)
