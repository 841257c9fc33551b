"""RobustClassifier on sets of candidate labels."""

import logging

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.sparse import coo_matrix, csr_array

from reweigh import DataError, RobustClassifier
from reweigh.bias.candidates import independent
from reweigh.estimator.targets import read_candidates, read_weights


@pytest.fixture
def mask(blobs):
    """Candidates of the samples of three blobs, the true label among them."""
    return independent(torch.from_numpy(blobs[1]), 3, 0, q=0.3)[:].numpy()


def test_the_right_candidate_is_found(blobs, mask, tmp_path):
    X, truth, _ = blobs
    classifier = RobustClassifier("proden+cmw-net", candidates=True, epochs=14, random_state=0).fit(X, mask)
    assert classifier.score(X, truth) > 0.95
    assert classifier.weighting_ is not None
    issues = classifier.label_issues_.sort_index()
    assert (issues["given_label"] == truth).mean() > 0.95
    assert mask[np.arange(len(X)), issues["given_label"]].all()
    outside = ~mask[np.arange(len(X)), classifier.suggested_labels_]
    assert (issues["is_label_issue"] == outside).all()
    classifier.save(tmp_path / "saved")
    again = RobustClassifier.load(tmp_path / "saved")
    assert again.candidates is True
    assert (again.predict(X) == classifier.predict(X)).all()


def test_columns_name_the_classes_and_any_method_takes_candidates(blobs, mask):
    X, truth, _ = blobs
    y = pd.DataFrame(mask.astype(int), columns=["cat", "dog", "owl"])
    classifier = RobustClassifier("erm", candidates=True, epochs=8, random_state=0).fit(X, y)
    assert classifier.classes_.tolist() == ["cat", "dog", "owl"]
    assert (classifier.predict(X) == np.array(["cat", "dog", "owl"])[truth]).mean() > 0.9


def test_rows_that_say_nothing_are_counted(caplog):
    mask = np.eye(3, dtype=bool)[[0, 1, 2, 0]]
    mask[1] = True
    with caplog.at_level(logging.INFO):
        targets = read_candidates(mask, 4)
    assert "y: 1 of 4 samples have every class as a candidate, which carries no information" in caplog.text
    assert targets.candidates is not None
    assert targets.candidates[:].tolist() == mask.tolist()


@pytest.mark.parametrize("sparse", [csr_array, coo_matrix])
def test_a_sparse_mask_is_the_same_and_never_dense_as_a_whole(sparse, monkeypatch):
    monkeypatch.setattr("reweigh.core.candidates.MASK_VALUES_AT_ONCE", 12)  # three rows
    mask = np.random.default_rng(0).random((20, 4)) < 0.5
    mask[range(20), np.arange(20) % 4] = True
    found, dense = read_candidates(sparse(mask.astype(int)), 20), read_candidates(mask, 20)
    assert found.candidates is not None
    assert found.candidates[:].numpy().tolist() == mask.tolist()
    assert found.labels.tolist() == dense.labels.tolist()
    wrong = mask.astype(float)
    wrong[11, 2] = 0.5
    with pytest.raises(DataError, match="rows 11 are not"):
        read_candidates(sparse(wrong), 20)


def test_class_weights_are_the_mean_over_candidates():
    mask = np.array([[1, 1, 0], [1, 1, 0], [0, 1, 1], [1, 0, 0]])
    targets = read_candidates(mask, 4)
    weights = read_weights(None, {0: 1, 1: 10, 2: 100}, targets)
    assert weights is not None
    assert weights.tolist() == pytest.approx([5.5, 5.5, 55, 1])
    share = mask / mask.sum(1, keepdims=True)
    slow = [sum(row[c] * 4 / (3 * sum(other[c] for other in share)) for c in range(3)) for row in share]
    balanced = read_weights(None, "balanced", targets)
    assert balanced is not None
    assert balanced.tolist() == pytest.approx(slow)


@pytest.mark.parametrize(
    ("y", "words"),
    [
        ([0, 1, 2], r"y: shape \(3,\); with candidates=True it should be a mask"),
        ([[1, 0], [0, 0], [0, 0]], r"y: candidates: none in 2 of 3 samples: rows 1, 2; name at least one class"),
        ([[1, 0], [0.5, 0.5], [0, 1]], r"should be true or false, 1 or 0; rows 1 are not"),
        ([[1, 0], [np.nan, 1], [0, 1]], r"rows 1 are not"),
        ([["a", "b"]] * 3, r"y: a mask of .*; pass true and false, or 1 and 0"),
        ([[1, 0], [0, 1]], r"y: 2 labels for 3 samples"),
        ([[1, 0, 1], [1, 0, 0], [0, 0, 1]], r"y: class 1 is not a candidate of any sample; drop it"),
        ([[1, 1], [1, 1], [1, 1]], r"y: all 3 samples have every class as a candidate; there is nothing to learn"),
    ],
)
def test_what_is_no_mask(y, words):
    with pytest.raises(DataError, match=words):
        read_candidates(np.array(y), 3)


def test_a_mask_that_is_not_announced_is_recognized(blobs, mask):
    with pytest.raises(
        DataError, match=r"a mask of candidate labels needs candidates=True\. If each column is a labeler, pass"
    ):
        RobustClassifier(epochs=1).fit(blobs[0], mask)
