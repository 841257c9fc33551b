"""A classifier fitted to labels by several labelers."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_blobs

from reweigh import DataError, RobustClassifier, Votes


def blobs(samples: int, classes: int) -> Any:
    """Rows and classes."""
    return make_blobs(samples, centers=classes, random_state=0)


@pytest.fixture(scope="module")
def voted():
    random = np.random.default_rng(0)
    X, true = blobs(240, 3)
    votes = pd.DataFrame(dict.fromkeys(("ann", "bob", "eve"), true), dtype=float)
    for name, rate in (("ann", 0.1), ("bob", 0.3), ("eve", 0.6)):
        hit = random.random(240) < rate
        votes.loc[hit, name] = random.integers(0, 3, hit.sum())
        votes.loc[random.random(240) < 0.3, name] = np.nan
    votes.iloc[:5] = np.nan
    frame = pd.DataFrame(X, columns=["u", "v"], index=[f"s{row}" for row in range(240)])
    return frame, votes, true, RobustClassifier(epochs=8, random_state=0).fit(frame, votes)


def test_consensus_is_better_than_the_majority(voted):
    X, votes, true, classifier = voted
    consensus = classifier.consensus_
    assert consensus.index.equals(X.index)
    majority = Votes.of(votes).tally().argmax(1).numpy()
    assert (consensus["label"] == true).mean() > (majority == true).mean() + 0.05
    assert consensus["votes"][:5].tolist() == [0] * 5
    assert (classifier.predict(X) == true).mean() > 0.85


def test_labelers_are_ranked(voted):
    _, votes, true, classifier = voted
    table = classifier.labelers_
    assert table.index.tolist() == ["ann", "bob", "eve"]
    right = [(votes[name] == true)[votes[name].notna()].mean() for name in votes]
    assert np.abs(table["accuracy"].to_numpy() - right).max() < 0.06


def test_samples_without_votes_have_no_label_issue_and_all_rows_are_there(voted):
    X, _, _, classifier = voted
    assert len(classifier.label_quality_) == len(classifier.label_issues_) == 240
    without = (classifier.consensus_["votes"] == 0).to_numpy()
    assert np.isnan(classifier.label_quality_[without]).all()
    assert not classifier.is_label_issue_[without].any()
    assert set(classifier.label_issues_.index[-without.sum() :]) == set(X.index[without])
    assert "of the consensus labels are wrong" in classifier.finding_.words


def test_votes_and_what_to_ask_next_are_named_by_the_rows_of_x(voted):
    X, _, _, classifier = voted
    assert classifier.vote_issues_["sample"].isin(X.index).all()
    asked = classifier.next_labels(7, cost={"ann": 2, "bob": 1})
    assert asked["sample"].isin(X.index).all()
    assert asked["sample"].is_unique
    assert set(asked["labeler"]) <= {"ann", "bob"}
    assert len(asked) == 7


def test_one_labeler_is_one_label_per_sample_to_the_last_digit():
    X, y = blobs(90, 3)
    plain = RobustClassifier(epochs=4, random_state=0).fit(X, y)
    one = RobustClassifier(epochs=4, random_state=0).fit(X, Votes.of({"ann": y}))
    np.testing.assert_array_equal(plain.predict_proba(X), one.predict_proba(X))
    np.testing.assert_array_equal(plain.label_quality_, one.label_quality_)
    with pytest.raises(DataError, match="no votes of several labelers"):
        _ = one.labelers_


def test_zeros_and_ones_alone_may_be_a_mask_and_are_not_guessed_at():
    X, y = blobs(40, 2)
    with pytest.raises(DataError, match=r"Votes\.of\(y\)"):
        RobustClassifier(epochs=1).fit(X, np.stack([y, y, 1 - y], 1))


def test_a_method_of_one_look_learns_the_consensus_of_votes(voted):
    X, votes, true, _ = voted
    classifier = RobustClassifier("erm", epochs=5, random_state=0).fit(X, votes)
    assert (classifier.consensus_["label"] == true).mean() > 0.8


def test_other_numbers_of_samples_are_refused(voted):
    X, votes, _, _ = voted
    with pytest.raises(DataError, match="inconsistent numbers"):
        RobustClassifier(epochs=1).fit(X[:100], votes)


def test_a_saved_classifier_knows_its_labelers(voted, tmp_path):
    *_, classifier = voted
    classifier.save(tmp_path / "voted.safetensors")
    loaded = RobustClassifier.load(tmp_path / "voted.safetensors")
    pd.testing.assert_frame_equal(loaded.labelers_, classifier.labelers_)
    pd.testing.assert_frame_equal(
        loaded.consensus_.reset_index(drop=True), classifier.consensus_.reset_index(drop=True)
    )
    assert loaded.next_labels(5)["gain"].tolist() == classifier.next_labels(5)["gain"].tolist()
