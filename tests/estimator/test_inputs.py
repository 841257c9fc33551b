"""X in its forms."""

import numpy as np
import pytest
import torch
from reweigh.estimator.features import learn_features
from scipy import sparse
from sklearn.base import BaseEstimator
from torch import Tensor

from reweigh.data.sparse import SparseRows

RNG = np.random.default_rng(0)
X = RNG.normal(size=(50, 3)).astype(np.float32) * [1, 10, 0.1] + [0, 5, 100]


def test_single_precision_is_not_copied():
    single = X.astype(np.float32)
    _, inputs = learn_features(BaseEstimator(), single)
    assert isinstance(inputs, Tensor)
    assert inputs.data_ptr() == single.ctypes.data
    _, rows = learn_features(BaseEstimator(), matrix := sparse.csr_array(X))
    assert isinstance(rows, SparseRows)
    assert np.shares_memory(rows.matrix.data, matrix.data)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.uint8, object])
def test_columns_get_mean_zero_and_deviation_one(dtype):
    given = np.abs(X).astype(dtype)
    features, inputs = learn_features(BaseEstimator(), given)
    raw = inputs[torch.arange(50)]
    raw = raw.float() / 255 if raw.dtype == torch.uint8 else raw  # as a dataset does
    scaled = features.normalize(inputs)(raw).double()
    numbers = given.astype(float)
    expected = (numbers - numbers.mean(0)) / numbers.std(0)
    assert np.allclose(scaled.numpy(), expected, atol=1e-3)


def test_a_constant_column_stays_finite():
    features, inputs = learn_features(BaseEstimator(), np.c_[X, np.ones(50)])
    assert torch.isfinite(features.normalize(inputs)(inputs[torch.arange(50)])).all()


def test_tensors_that_require_gradients_or_half_precision_are_read():
    for tensor in (torch.randn(4, 2, requires_grad=True), torch.randn(4, 2).bfloat16()):
        _, inputs = learn_features(BaseEstimator(), tensor)
        assert torch.allclose(inputs[torch.arange(4)], tensor.detach().float())


def test_later_arrays_are_read_as_the_table_was():
    pandas = pytest.importorskip("pandas")
    estimator = BaseEstimator()
    features, inputs = learn_features(estimator, pandas.DataFrame(X))
    assert torch.equal(features.read(estimator, X, "X")[torch.arange(50)], inputs[torch.arange(50)])
    with pytest.raises(ValueError, match="X: a sparse matrix, but the classifier was trained on a DataFrame"):
        features.read(estimator, sparse.csr_array(X), "X")
