"""RobustClassifier as users call it."""

import random

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import sparse
from sklearn.base import clone

from reweigh import DataError, RobustClassifier
from reweigh.data.inputs import SparseRows
from reweigh.methods import METHODS


def same(a, b, X):
    return np.array_equal(a.predict_proba(X), b.predict_proba(X)) and np.array_equal(a.sample_weight_, b.sample_weight_)


def test_wrong_labels_are_found_and_do_little_harm(blobs):
    X, truth, given = blobs
    several = [RobustClassifier(epochs=23, random_state=seed).fit(X, given) for seed in range(3)]
    assert min(classifier.score(X, truth) for classifier in several) > 0.95
    assert np.mean([classifier.suggested_labels_ == truth for classifier in several]) > 0.95
    classifier = several[0]
    issues = classifier.label_issues_
    wrong = set(np.flatnonzero(given != truth))
    assert len(set(issues.index[: len(wrong)]) & wrong) > 0.9 * len(wrong)
    assert sorted(issues.index) == list(range(240))
    assert (issues["given_label"] == given[issues.index]).all()
    assert issues["label_quality"].is_monotonic_increasing


def test_what_is_known_after_fit(blobs, quick):
    X, _, given = blobs
    classifier = quick().fit(X, given)
    assert classifier.classes_.tolist() == [0, 1, 2]
    assert classifier.n_features_in_ == 6
    assert classifier.sample_weight_.shape == classifier.suggested_labels_.shape == (240,)
    assert ((classifier.sample_weight_ > 0) & (classifier.sample_weight_ < 1)).all()
    assert classifier.history_["epoch"].tolist() == [1, 2, 3]
    assert classifier.plan_.train["scoring"] == "in-training"
    assert not classifier.model_.training
    columns = ["given_label", "suggested_label", "label_quality", "weight", "family", "is_label_issue"]
    assert list(classifier.label_issues_) == columns
    assert classifier.label_issues_ is classifier.label_issues_
    assert set(classifier.label_issues_["family"]) <= set(range(classifier.weighting_.num_families))
    classifier.fit(X[:200], given[:200])
    assert len(classifier.label_issues_) == 200


def test_label_issues_keep_the_index_of_the_table(blobs, quick):
    X, _, given = blobs
    order = np.random.default_rng(1).permutation(240)[:200]
    table = pd.DataFrame(X).assign(given=given).rename(index="row {}".format).iloc[order]
    issues = quick().fit(table.drop(columns="given"), table["given"]).label_issues_
    assert sorted(issues.index) == sorted(table.index)
    assert (table.loc[issues.index, "given"] == issues["given_label"]).all()
    by_number = quick().fit(X[order], given[order]).label_issues_
    assert (given[order][by_number.index] == by_number["given_label"]).all()


def test_the_default_method_follows_the_data(blobs):
    X, truth, given = blobs
    rng, y = np.random.default_rng(0), np.arange(24) % 2
    images = rng.integers(0, 255, (24, 3, 8, 8), dtype=np.uint8)
    few = {"epochs": 1, "batch_size": 24, "random_state": 0}
    assert RobustClassifier(**few).fit(X, given).plan_.method.name == "two-looks"
    trusted = RobustClassifier(**few).fit(X, given, X_trusted=X[:6], y_trusted=truth[:6])
    assert trusted.plan_.method.name == "two-looks"  # its weights are learned on samples that are known to be right
    by_image = RobustClassifier(**few).fit(images, y).plan_  # too small for pretrained features
    assert by_image.method.name == "cmw-net-sl"
    assert [part.name for part in by_image.augment] == ["pad-crop", "flip"]
    assert RobustClassifier(candidates=True, **few).fit(X, np.eye(3)[given]).plan_.method.name == "proden"
    assert RobustClassifier(**few | {"random_state": 7}).fit(X, given).plan_.train["seed"] == 7


def test_a_method_without_weights(blobs, quick):
    X, _, given = blobs
    classifier = quick("erm").fit(X, given)
    assert classifier.weighting_ is None
    assert (classifier.sample_weight_ == 1).all()
    assert classifier.label_issues_["weight"].isna().all()
    with pytest.raises(ValueError, match="method 'erm' learns no weighting function"):
        classifier.plot_weighting()


@pytest.mark.parametrize("method", METHODS)
def test_every_method_trains_on_a_table_or_says_why_not(method, blobs, quick):
    X, _, given = blobs
    classifier = quick(method)
    if method in ("simclr", "cmw-net-sl+", "uda", "fixmatch", "fixmatch+cmw-net"):
        with pytest.raises(DataError, match="images of shape"):
            classifier.fit(X, given)
        return
    classifier.fit(X, given)
    assert classifier.predict_proba(X[:5]).shape == (5, 3)
    assert len(classifier.label_issues_) == 240


def test_labels_may_be_texts(blobs, quick):
    X, _, given = blobs
    names = np.array(["lynx", "ant", "bee"])
    classifier = quick().fit(X, names[given])
    assert classifier.classes_.tolist() == ["ant", "bee", "lynx"]
    assert set(classifier.predict(X)) <= set(names)
    assert set(classifier.suggested_labels_) | set(classifier.label_issues_["suggested_label"]) <= set(names)


def test_a_number_repeats_the_result_and_global_generators_stay_as_they_were(blobs, quick):
    X, _, given = blobs
    torch.manual_seed(7), np.random.seed(7), random.seed(7)
    before = torch.get_rng_state(), np.random.get_state()[1].copy(), random.getstate()
    first, other, free = (quick(random_state=state).fit(X, given) for state in (0, 1, None))
    assert torch.equal(torch.get_rng_state(), before[0])
    assert (np.random.get_state()[1] == before[1]).all()
    assert random.getstate() == before[2]
    torch.manual_seed(8)
    assert same(first, quick().fit(X, given), X)
    assert not same(first, other, X)
    assert not same(free, clone(free).fit(X, given), X)


def test_weights_of_one_change_nothing_and_others_do(blobs, quick):
    X, _, given = blobs
    plain = quick().fit(X, given)
    assert same(plain, quick().fit(X, given, sample_weight=np.ones(240)), X)
    assert not same(plain, quick().fit(X, given, sample_weight=1 + given), X)


def test_a_sample_of_weight_zero_teaches_nothing(blobs, quick):
    X, truth, _ = blobs
    wrong = np.where(np.arange(240) % 4 < 3, (truth + 1) % 3, truth)
    counted = (wrong == truth).astype(float)
    assert quick("erm", epochs=30).fit(X, wrong, sample_weight=counted).score(X, truth) > 0.9


def test_class_weights_are_sample_weights(blobs, quick):
    X, _, given = blobs
    names = np.array(["a", "b", "c"])[given]
    weights = {"a": 1.0, "b": 5.0, "c": 0.5}
    by_sample = quick().fit(X, names, sample_weight=[weights[name] for name in names])
    assert same(quick(class_weight=weights).fit(X, names), by_sample, X)
    balanced = [240 / 3 / np.sum(given == label) for label in given]
    assert same(quick(class_weight="balanced").fit(X, given), quick().fit(X, given, sample_weight=balanced), X)


def test_the_user_s_weights_stay_as_they_are(blobs, quick):
    X, _, given = blobs
    own = np.ones(240)
    quick(class_weight={0: 1, 1: 2, 2: 3}).fit(X, given, sample_weight=own)
    assert (own == 1).all()


def test_soft_labels_that_are_sure_are_labels(blobs, quick):
    X, _, given = blobs
    hard, soft = quick().fit(X, given), quick().fit(X, np.eye(3)[given])
    assert np.allclose(hard.predict_proba(X), soft.predict_proba(X), atol=1e-3)
    assert soft.classes_.tolist() == [0, 1, 2]
    assert (soft.label_issues_.sort_index()["given_label"] == given).all()


def test_soft_labels_are_learned_as_they_are(quick):
    X = np.random.default_rng(0).normal(size=(200, 2)).astype(np.float32)
    rows = pd.DataFrame(np.tile([0.7, 0.3], (200, 1)), columns=["yes", "no"])
    rows.iloc[0] = [0.2, 0.8]  # so that there are two classes
    classifier = quick("erm", epochs=30, lr=0.01).fit(X, rows)
    assert classifier.predict_proba(X).mean(0) == pytest.approx([0.7, 0.3], abs=0.05)
    assert set(classifier.predict(X)) <= {"yes", "no"}


def test_trusted_samples_teach_the_weights(blobs, quick):
    X, truth, given = blobs
    options = {"epochs": 5, "method_options": {"every": 2, "meta_lr": 0.02}}
    right = quick(**options).fit(X, given, X_trusted=X[:60], y_trusted=truth[:60])
    wrong = quick(**options).fit(X, given, X_trusted=X[:60], y_trusted=(truth[:60] + 1) % 3)
    trust = [fitted.sample_weight_[given == truth].mean() for fitted in (right, wrong)]
    assert trust[0] > trust[1] + 0.1
    assert same(right, quick(**options).fit(X, given, X_trusted=X[:60], y_trusted=np.eye(3)[truth[:60]]), X)


def test_a_table_of_mixed_columns(quick):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 150)
    frame = pd.DataFrame(
        {
            "size": np.where(rng.random(150) < 0.1, np.nan, y + rng.normal(size=150)),
            "color": np.where(y == 1, "red", rng.choice(["red", "blue"], 150)),
            "when": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 90, 150), "D"),
        }
    )
    classifier = quick(epochs=20).fit(frame, y)
    assert classifier.feature_names_in_.tolist() == ["size", "color", "when"]
    assert classifier.score(frame, y) > 0.7
    new = frame.head(3).assign(color="green")  # a category of its own
    assert np.isfinite(classifier.predict_proba(new)).all()
    assert same(classifier, clone(classifier).fit(frame, y), frame)
    with pytest.raises(ValueError, match="feature names should match"):
        classifier.predict(frame.rename(columns={"size": "width"}))


def test_a_table_of_numbers_is_as_good_as_its_array(blobs, quick):
    X, _, given = blobs
    as_array, as_table = quick().fit(X, given), quick().fit(pd.DataFrame(X), given)
    assert np.allclose(as_array.predict_proba(X), as_table.predict_proba(pd.DataFrame(X)), atol=1e-4)
    assert np.allclose(as_array.predict_proba(X), as_table.predict_proba(X), atol=1e-4)


def test_a_sparse_matrix_is_never_dense_as_a_whole(quick, monkeypatch):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 1500)
    dense = np.where(rng.random((1500, 20)) < 0.8, 0, rng.random((1500, 20)))
    dense[:, 0] = y * rng.random(1500)
    X = sparse.csc_matrix(dense)
    largest = []
    fetch = SparseRows.__getitem__
    monkeypatch.setattr(SparseRows, "__getitem__", lambda rows, index: largest.append(len(index)) or fetch(rows, index))
    classifier = quick(batch_size=100, lr=0.01).fit(X, y)
    assert classifier.score(X, y) > 0.9
    assert max(largest) < 1500
    assert np.allclose(classifier.predict_proba(X), classifier.predict_proba(dense), atol=1e-6)


def test_images_get_a_convolutional_net_and_bytes_are_numbers(quick):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 60)
    images = rng.integers(0, 100, (60, 1, 8, 8), dtype=np.uint8)
    images[y == 1, :, :4] += 100
    classifier = quick(epochs=8, batch_size=10).fit(images, y)
    assert any(isinstance(part, torch.nn.Conv2d) for part in classifier.model_.modules())
    assert classifier.score(images, y) > 0.9
    as_floats = classifier.predict_proba(images.astype(np.float64))
    assert np.allclose(classifier.predict_proba(images), as_floats, atol=1e-5)
    assert np.allclose(classifier.predict_proba(torch.from_numpy(images)), as_floats, atol=1e-5)
    assert np.allclose(
        quick(epochs=8, batch_size=10).fit(images / 255, y).predict_proba(images / 255), as_floats, atol=1e-3
    )
    with pytest.raises(DataError, match=r"samples of shape \(1, 9, 8\), but the classifier was trained on \(1, 8, 8\)"):
        classifier.predict(np.zeros((2, 1, 9, 8)))


@pytest.mark.parametrize("y", [[0, 1], [0, 0, 0, 0, 0, 1], [0, 1, 2, 2], list("abcc") * 5 + ["d"]])
def test_tiny_data_and_classes_of_one_sample(y):
    X = np.random.default_rng(0).normal(size=(len(y), 3))
    for scoring in ("in-training", "out-of-fold"):
        classifier = RobustClassifier(epochs=2, scoring=scoring, random_state=0).fit(X, y)
        assert len(classifier.label_issues_) == len(classifier.predict(X)) == len(y)


def test_one_epoch_is_enough_to_weigh(blobs, quick):
    X, _, given = blobs
    assert np.isfinite(quick(epochs=1).fit(X, given).sample_weight_).all()


def test_progress_is_shown_on_request_only(blobs, quick, capsys):
    X, _, given = blobs
    quick().fit(X, given)
    assert capsys.readouterr() == ("", "")
    quick(verbose=True).fit(X, given)
    assert "cmw-net  epoch 3/3" in capsys.readouterr().err


def test_a_notebook_shows_it(blobs, quick):
    X, _, given = blobs
    assert "RobustClassifier" in quick().fit(X, given)._repr_html_()
