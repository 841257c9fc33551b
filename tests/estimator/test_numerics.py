"""Numbers at the edge: the same answer as with ordinary ones, or an error that says what to do."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from reweigh import DataError, DivergedError, RobustClassifier

METHODS = ("two-looks", "cmw-net")
DRAW = np.random.default_rng(0)
Y = np.arange(90) % 3
X = DRAW.normal(size=(90, 4)) + 4 * np.eye(4)[Y]
GIVEN = np.where(DRAW.random(90) < 0.15, DRAW.integers(0, 3, 90), Y)


def accuracy(method, inputs, labels=GIVEN, **arguments):
    classifier = RobustClassifier(method, epochs=12, random_state=0).fit(inputs, labels, **arguments)
    assert np.isfinite(classifier.predict_proba(inputs)).all()
    return (classifier.predict(inputs) == Y + (labels[0] - GIVEN[0])).mean()


def spoiled(value):
    inputs = X.copy()
    inputs[3, 2] = value
    return inputs


GOOD = {
    "1e-12": X * 1e-12,
    "1e-30": X * 1e-30,
    "1e12": X * 1e12,
    "1e30": X * 1e30,
    "every column another scale": X * [1e-12, 1, 1e6, 1e12],
    "float16": X.astype(np.float16),
    "float32": X.astype(np.float32),
    "int8": (10 * X).astype(np.int8),
    "a constant column": np.c_[X, np.full(90, 1e9)],
    "a column of rounding errors": np.c_[X, np.where(X[:, 0] > 0, 0.3, 0.1 + 0.2)],
    "a column of 64-bit integers": np.c_[np.round(4e17 * X).astype(np.int64)],
    "table, 1e-15": pd.DataFrame(X * 1e-15, columns=list("abcd")),
    "table, 1e12": pd.DataFrame(X * 1e12, columns=list("abcd")),
    "table, plus 1e9": pd.DataFrame(X + 1e9, columns=list("abcd")),
    "plus 1e9": X + 1e9,
    "1e-40": X * 1e-40,
    "1e-40 in float32": (X * 1e-40).astype(np.float32),
    "1e40": X * 1e40,
}


@pytest.mark.parametrize("case", GOOD)
def test_scales_and_types(case):
    assert accuracy("cmw-net", GOOD[case]) > 0.9


FLAT = np.random.default_rng(0).normal(size=(400, 4))
SIDES = (FLAT[:, 0] + 0.8 * FLAT[:, 1] > 0).astype(int)
ROW = np.arange(200)[:, None]
ABSURD = {
    "a typing mistake": np.where((ROW == 7) & (np.arange(4) == 0), 1000, FLAT[:200]),
    "one cell of 1e30": np.where((ROW == 7) & (np.arange(4) == 0), 1e30, FLAT[:200]),
    "one cell of 1e300": np.where((ROW == 7) & (np.arange(4) == 0), 1e300, FLAT[:200]),
    "a sentinel": np.where((ROW % 17 == 0) & (np.arange(4) == 1), -9999, FLAT[:200]),
}


@pytest.mark.parametrize("form", [np.asarray, pd.DataFrame, csr_array])
@pytest.mark.parametrize("case", ABSURD)
def test_absurd_cells_change_nothing_but_their_rows(case, form):
    classifier = RobustClassifier(random_state=0).fit(form(ABSURD[case]), SIDES[:200])
    assert classifier.score(form(FLAT[200:]), SIDES[200:]) > 0.88
    assert max(classifier.finding_.share) < 0.03  # all labels are right


@pytest.mark.parametrize("method", METHODS)
def test_a_class_of_copies(method):
    copies = np.where((GIVEN == 2)[:, None], X[2], X)
    assert accuracy(method, copies) > 0.85


@pytest.mark.parametrize("method", METHODS)
def test_large_class_numbers(method):
    assert accuracy(method, X, GIVEN + 2**62) > 0.9


@pytest.mark.parametrize("method", METHODS)
def test_features_that_say_nothing_end_in_the_class_sizes(method, caplog):
    assert accuracy(method, np.ones_like(X)) == pytest.approx(1 / 3, abs=0.05)
    assert "X: columns that never change, which a model cannot use: 0, 1, 2, 3" in caplog.text


@pytest.mark.parametrize("method", METHODS)
def test_trusted_samples_of_one_class_only(method):
    assert accuracy(method, X, X_trusted=X[Y == 0][:5], y_trusted=Y[Y == 0][:5]) > 0.9


REFUSED = {
    "1e300": (X * 1e300, {}, r"column '0': values up to .*; divide them by a constant"),
    "table, 1e300": (pd.DataFrame(X * 1e300, columns=list("abcd")), {}, "column 'a': values up to"),
    "infinite": (spoiled(np.inf), {}, "contains infinity"),
    "weights of zero": (X, {"sample_weight": np.zeros(90)}, "all weights are zero"),
    "tiny weights": (X, {"sample_weight": np.full(90, 1e-12)}, "1.0e-12 on average.* divide the weights by their mean"),
    "huge weights": (X, {"sample_weight": np.full(90, 1e12)}, r"1.0e\+12 on average"),
    "one trusted sample": (X, {"X_trusted": X[:1], "y_trusted": Y[:1]}, "X_trusted: 1 sample; pass two or more"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_has_no_right_answer_is_refused(case):
    inputs, arguments, message = REFUSED[case]
    with pytest.raises(ValueError, match=message):  # DataError is one, and so are those of scikit-learn
        RobustClassifier("cmw-net", epochs=2).fit(inputs, GIVEN, **arguments)
    assert issubclass(DataError, ValueError)


@pytest.mark.parametrize("method", METHODS)
def test_a_loss_that_explodes(method):
    with pytest.raises(DivergedError, match=r"at learning rate .*; lower the learning rate"):
        RobustClassifier(method, epochs=12, lr=1e6, random_state=0).fit(X, GIVEN)
