"""-1 in y: no label for methods that learn without one, a class for all others."""

import numpy as np
import pytest

from reweigh.errors import DataError
from reweigh.estimator.targets import read_targets


@pytest.mark.parametrize(
    ("y", "classes", "labels"),
    [
        ([3, -1, 1, 3], [1, 3], [1, -1, 0, 1]),
        (["b", "-1", "a", "b"], ["a", "b"], [1, -1, 0, 1]),
        (["b", None, "a", -1], ["a", "b"], [1, -1, 0, -1]),
        (np.array([5, None, 2, 5], dtype=object), [2, 5], [1, -1, 0, 1]),
        ([1.0, float("nan"), 0.0, -1.0], [0.0, 1.0], [1, -1, 0, -1]),
        ([0, 1, 1, 0], [0, 1], [0, 1, 1, 0]),
    ],
)
def test_unlabeled_samples_are_numbered_minus_one(y, classes, labels):
    targets = read_targets(y, 4, unlabeled=True)
    assert targets.labels.tolist() == labels
    assert targets.classes.tolist() == classes


def test_one_label_of_each_class_is_enough():
    assert read_targets([0, 1, 2, -1, -1, -1], 6, unlabeled=True).labels.tolist() == [0, 1, 2, -1, -1, -1]


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([-1, -1, -1], "none of the 3 samples has a label; label a few of each class"),
        ([1, -1, 1], "all 2 labels are of one class"),
    ],
)
def test_too_little_to_learn_from(y, message):
    with pytest.raises(DataError, match=message):
        read_targets(y, 3, unlabeled=True)


@pytest.fixture
def few(blobs):
    X, truth, _ = blobs
    return X, truth, np.where(np.arange(240) % 12 == 0, truth, -1)


@pytest.mark.parametrize("method", ["pseudo-label", "mean-teacher", "labeled-only", "mixmatch"])
def test_it_learns_from_few_labels(few, quick, method):
    X, truth, y = few
    classifier = quick(method, epochs=20, class_weight="balanced").fit(X, y)
    assert classifier.classes_.tolist() == [0, 1, 2]
    assert classifier.score(X, truth) > 0.8
    issues = classifier.label_issues_
    assert len(issues) == 240
    unlabeled = issues[issues.given_label == -1]
    assert len(unlabeled) == 220
    assert not unlabeled.is_label_issue.any()
    assert unlabeled.label_quality.isna().all()
    assert (unlabeled.suggested_label.to_numpy() == truth[unlabeled.index]).mean() > 0.8


def test_texts(few, quick):
    X, _, y = few
    names = np.array(["ash", "elm", "oak"])
    given = np.where(y < 0, "-1", names[y])
    classifier = quick("pseudo-label", epochs=10).fit(X, given)
    assert classifier.classes_.tolist() == names.tolist()
    assert set(classifier.predict(X)) <= set(names)


def test_minus_one_is_a_class_for_other_methods(few, quick):
    X, _, y = few
    assert quick("erm").fit(X, y).classes_.tolist() == [-1, 0, 1, 2]


def test_learned_weights_on_images(quick):
    pytest.importorskip("kornia")
    rng = np.random.default_rng(0)
    truth = np.arange(90) % 3
    stripes = 180 * (np.arange(8) % 3 == truth[:, None])[:, None, None]
    images = (rng.random((90, 1, 8, 8)) * 60 + stripes).astype(np.uint8)
    y = np.where(np.arange(90) < 30, truth, -1)
    classifier = quick("fixmatch+cmw-net", epochs=4, method_options={"labeled_batch": 12, "every": 1}).fit(images, y)
    assert classifier.weighting_.net.num_families == 3
    assert np.isfinite(classifier.sample_weight_).all()
    assert (classifier.label_issues_.family >= 0).all()
    drawn = classifier.plot_weighting().get_lines()
    assert all(np.isfinite(line.get_xdata()).all() for line in drawn)


def test_strong_distortion_of_a_table_is_refused_and_an_alternative_named(few, quick):
    X, _, y = few
    with pytest.raises(ValueError, match="use method 'pseudo-label' or 'mean-teacher'"):
        quick("fixmatch").fit(X, y)
