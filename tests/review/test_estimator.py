"""``classifier.review()``: the page for a fitted classifier, and what was decided as labels."""

import numpy as np
import pandas as pd
import pytest

from reweigh import RobustClassifier
from reweigh.errors import DataError


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    true = np.arange(80) % 2
    X = pd.DataFrame({"size": rng.normal(true, 0.3), "note": ["short" if label else "a longer note" for label in true]})
    y = np.where(np.arange(80) % 10 == 0, 1 - true, true) + 5
    return RobustClassifier("erm", epochs=4, random_state=0).fit(X, y), X, y


def test_decisions_come_back_as_labels(fitted, tmp_path):
    classifier, X, y = fitted
    review = classifier.review(X, tmp_path / "mine.jsonl", "ann")
    try:
        assert review.address in repr(review)
        assert dict(review.session.cards.card(10)["values"])["size"] == f"{X['size'][10]:.6g}"
        review.session.decide(10, 0)
        review.session.decide(11, 1)
        labels, checked = review.labels()
    finally:
        review.stop()
    expected = y.copy()
    expected[[10, 11]] = [5, 6]
    np.testing.assert_array_equal(labels, expected)
    assert np.flatnonzero(checked).tolist() == [10, 11]
    again = classifier.review(X, tmp_path / "mine.jsonl", "ann")  # continued
    again.stop()
    np.testing.assert_array_equal(again.labels()[0], expected)


def test_other_samples_are_refused(fitted, tmp_path):
    classifier, X, _ = fitted
    with pytest.raises(DataError, match="70 samples, but 80 were fitted"):
        classifier.review(X[:70], tmp_path / "mine.jsonl")
