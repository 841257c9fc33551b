"""The estimator abstains where it is not sure, about as often as it is told."""

import math

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from reweigh import RobustClassifier
from reweigh.models.selective import SelectiveModel


@pytest.fixture(scope="module")
def data():
    """Training and further samples of three classes that overlap."""
    X, y = make_blobs(1600, n_features=6, centers=3, cluster_std=6, random_state=3)
    return X[:600].astype(np.float32), y[:600], X[600:].astype(np.float32), y[600:]


@pytest.fixture(scope="module", params=["selectivenet+cmw-net", "softmax-response"])
def fitted(request, data):
    options = {"score": "softmax-response"} if request.param != "softmax-response" else None
    classifier = RobustClassifier(request.param, epochs=6, random_state=0, abstain=0.4, method_options=options)
    return classifier.fit(*data[:2])


@pytest.mark.parametrize("coverage", [0.5, 0.8, 1.0])
def test_it_predicts_the_wanted_share_and_is_right_more_often(fitted, data, coverage):
    _, _, X, y = data
    predicted = fitted.predict(X, coverage=coverage)
    kept = predicted != -1
    spread = math.sqrt(coverage * (1 - coverage) * (1 / 240 + 1 / 1000))
    assert abs(kept.mean() - coverage) <= 4 * spread
    everything = fitted.predict(X)
    np.testing.assert_array_equal(predicted[kept], everything[kept])
    assert np.mean(predicted[kept] == y[kept]) >= np.mean(everything == y)
    if coverage == 0.5:
        assert np.mean(predicted[kept] == y[kept]) > np.mean(everything == y) + 0.05


def test_every_sample_of_x_is_reported(fitted, data):
    X, y = data[:2]
    assert len(fitted.sample_weight_) == len(fitted.suggested_labels_) == len(fitted.label_issues_) == len(X)
    issues = fitted.label_issues_.sort_index()
    np.testing.assert_array_equal(issues["given_label"], y)
    assert issues["label_quality"].notna().all()
    assert np.isfinite(fitted._fit.samples.losses.numpy()).all()
    assert len(fitted._fit.held_out.scores) == 240
    if fitted.method == "selectivenet+cmw-net":
        assert isinstance(fitted.model_, SelectiveModel)
        assert issues["weight"].isna().sum() == 240  # those that were not trained on


def test_it_is_saved_with_what_it_needs(fitted, data, tmp_path):
    fitted.save(tmp_path / "classifier")
    again = RobustClassifier.load(tmp_path / "classifier")
    X = data[2]
    np.testing.assert_array_equal(again.predict(X, coverage=0.7), fitted.predict(X, coverage=0.7))


@pytest.mark.parametrize(
    ("classes", "nothing", "kind"),
    [
        (np.array(["a", "b", "c"]), None, object),
        (np.array([3, 5, 250], np.uint8), -1, np.int16),
        (np.array([1.0, 2.0, 3.0]), -1, np.float64),
        (np.array([-1, 0, 1]), None, object),
        (np.array([False, True, True]), None, object),
        (np.array([3, 5, 2**63], np.uint64), None, object),
    ],
)
def test_what_stands_for_nothing(data, quick, classes, nothing, kind):
    X, y, more, _ = data
    predicted = quick("softmax-response", abstain=0.2).fit(X, classes[y]).predict(more, coverage=0.5)
    assert predicted.dtype == kind
    left = predicted == nothing
    assert 0.3 < left.mean() < 0.7
    assert set(predicted[~left].tolist()) <= set(classes.tolist())


@pytest.mark.parametrize("coverage", [0, 1.2, -1, "0.9"])
def test_a_coverage_that_is_none(fitted, data, coverage):
    with pytest.raises(ValueError, match=r"coverage: got .* should be above 0 and at most 1"):
        fitted.predict(data[2], coverage=coverage)


def test_nothing_was_held_out(data, quick):
    classifier = quick("erm").fit(*data[:2])
    with pytest.raises(ValueError, match=r"RobustClassifier\(abstain=0.1\)"):
        classifier.predict(data[2], coverage=0.9)


@pytest.mark.parametrize("share", [0, 1.0, 2, "a tenth"])
def test_a_share_that_is_none(data, quick, share):
    with pytest.raises(ValueError, match="abstain"):
        quick(abstain=share).fit(*data[:2])


def test_a_class_that_would_not_be_trained(quick):
    X = np.random.default_rng(0).normal(size=(40, 3))
    with pytest.raises(ValueError, match="leaves no sample of class 2 to train on"):
        quick(abstain=0.7).fit(X, np.r_[np.arange(39) % 2, 2])
