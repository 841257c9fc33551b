"""Sparse rows against the dense matrix that they stand for."""

import numpy as np
import pytest
import torch
from scipy import sparse

from reweigh.data import Dataset
from reweigh.data.inputs import SparseRows, scale_like

DENSE = np.array([[0, 2, 0, 0], [-4, 0, 0, 0], [1, 1, 0, 0], [0, 0, 0, 0], [2, -5, 0, 0.5]])


@pytest.fixture(params=[sparse.csr_matrix, sparse.csr_array], ids=["matrix", "array"])
def rows(request):
    return SparseRows(request.param(DENSE))


@pytest.mark.parametrize("index", [[0], [4, 0, 0, 2], [], [-1]])
def test_rows_are_those_of_the_dense_matrix(rows, index):
    index = torch.tensor(index, dtype=torch.int64)
    expected = torch.tensor(DENSE, dtype=torch.float32)[index]
    assert torch.equal(rows[index], expected)
    assert rows[index].dtype == torch.float32
    assert len(rows) == 5


def test_a_mask_chooses_as_well(rows):
    mask = torch.tensor([True, False, False, True, True])
    assert torch.equal(rows[mask], torch.tensor(DENSE, dtype=torch.float32)[mask])


def test_a_dataset_of_them_knows_its_shape_and_has_subsets(rows):
    dataset = Dataset(rows, torch.tensor([0, 1, 0, 1, 1]), ("a", "b"))
    assert dataset.shape == (4,)
    part = dataset.subset(torch.tensor([4, 1]))
    assert torch.equal(part.batch(torch.tensor([1])).inputs, torch.tensor(DENSE[[1]], dtype=torch.float32))


def test_columns_are_divided_by_their_largest_value(rows, monkeypatch):
    monkeypatch.setattr("reweigh.data.inputs.ENTRIES_AT_ONCE", 3)
    scale = scale_like(rows.matrix)
    scaled = scale(rows[torch.arange(5)])
    for column in range(4):
        top = max(abs(value) for value in DENSE[:, column]) or 1.0  # a column of zeros stays
        assert scaled[:, column].tolist() == pytest.approx((DENSE[:, column] / top).tolist())
