"""X in its forms."""

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import sparse
from sklearn.base import BaseEstimator
from torch import Tensor

from reweigh import DataError, RobustClassifier
from reweigh.data import Dataset
from reweigh.data.dataset import Reading
from reweigh.data.inputs import SparseRows
from reweigh.estimator.inputs import read_inputs, read_more_inputs
from reweigh.fit.inputs import InputForm

RNG = np.random.default_rng(0)
X = RNG.normal(size=(50, 3)).astype(np.float32) * [1, 10, 0.1] + [0, 5, 100]


def samples(found):
    """What a model would be given, shape (50, D) float64."""
    labels = torch.zeros(50, dtype=torch.int64)
    return Dataset(found.inputs, labels, ("a",), normalize=found.normalize).batch(torch.arange(50)).inputs.double()


def test_single_precision_is_not_copied():
    single = X.astype(np.float32)
    inputs = read_inputs(BaseEstimator(), single).inputs
    assert isinstance(inputs, Tensor)
    assert inputs.data_ptr() == single.ctypes.data
    rows = read_inputs(BaseEstimator(), matrix := sparse.csr_array(X)).inputs
    assert isinstance(rows, SparseRows)
    assert np.shares_memory(rows.matrix.data, matrix.data)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.uint8, object])
def test_columns_get_mean_zero_and_deviation_one(dtype):
    given = np.abs(X).astype(dtype)
    numbers = given.astype(float)
    expected = (numbers - numbers.mean(0)) / numbers.std(0)
    assert np.allclose(samples(read_inputs(BaseEstimator(), given)).numpy(), expected, atol=1e-3)


def test_a_constant_column_stays_finite():
    assert torch.isfinite(samples(read_inputs(BaseEstimator(), np.c_[X, np.ones(50)]))).all()


def test_tensors_that_require_gradients_or_half_precision_are_read():
    for tensor in (torch.randn(4, 2, requires_grad=True), torch.randn(4, 2).bfloat16()):
        inputs = read_inputs(BaseEstimator(), tensor).inputs
        assert torch.allclose(inputs[torch.arange(4)], tensor.detach().float())


def test_later_arrays_are_read_as_the_table_was():
    estimator, everything = RobustClassifier(), torch.arange(50)
    found = read_inputs(estimator, pd.DataFrame(X))
    labels = torch.zeros(50, dtype=torch.int64)
    form = InputForm.of(Dataset(found.inputs, labels, ("a",), reading=Reading(encoding=found.encoding)))
    again = read_more_inputs(estimator, X, form, found.columns, "X")
    assert torch.equal(again[everything], found.inputs[everything])
    with pytest.raises(ValueError, match="X: a sparse matrix, but the classifier was trained on a DataFrame"):
        read_more_inputs(estimator, sparse.csr_array(X), form, found.columns, "X")


@pytest.mark.filterwarnings("ignore:X has feature names")
def test_later_tables_are_read_as_the_array_was():
    estimator = RobustClassifier()
    found = read_inputs(estimator, X)
    form = InputForm.of(Dataset(found.inputs, torch.zeros(50, dtype=torch.int64), ("a",)))
    again = read_more_inputs(estimator, pd.DataFrame(X, columns=list("abc")), form, (), "X")
    assert torch.equal(again, found.inputs)
    with pytest.raises(ValueError, match="X: not numbers, but the classifier was trained on an array"):
        read_more_inputs(estimator, pd.DataFrame({"a": ["x"], "b": ["y"], "c": ["z"]}), form, (), "X")


def test_gaps_in_an_array_are_those_of_a_frame():
    draw = np.random.default_rng(0)
    X = draw.normal(size=(60, 3))
    X[::7, 1] = np.nan
    y = np.arange(60) % 2
    own = RobustClassifier("erm", epochs=2, random_state=0).fit(X, y)
    frame = RobustClassifier("erm", epochs=2, random_state=0).fit(pd.DataFrame(X, columns=list("abc")), y)
    np.testing.assert_array_equal(own.predict_proba(X), frame.predict_proba(pd.DataFrame(X, columns=list("abc"))))
    whole = RobustClassifier("erm", epochs=2, random_state=0).fit(np.nan_to_num(X), y)
    with pytest.raises(DataError, match="X: contains NaN"):
        whole.predict(X)


def test_no_label_is_doubted_if_no_column_varies():
    labels = np.random.default_rng(0).integers(0, 2, 120)
    found = RobustClassifier(random_state=0, epochs=5).fit(np.ones((120, 3)), labels)
    assert not found.is_label_issue_.any()
    assert found.finding_.words.startswith("All inputs are equal")
