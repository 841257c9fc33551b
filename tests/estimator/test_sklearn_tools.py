"""RobustClassifier inside scikit-learn's own tools."""

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler


def test_after_a_text_vectorizer(quick):
    rng = np.random.default_rng(0)
    topics = {"sea": ["wave", "salt", "ship", "fish", "sail"], "sky": ["cloud", "wind", "bird", "star", "moon"]}
    y = rng.choice(list(topics), 120)
    texts = [" ".join(rng.choice([*topics[name], "and", "the", "of"], 8)) for name in y]
    pipeline = make_pipeline(TfidfVectorizer(), quick(epochs=10)).fit(texts, y)
    assert pipeline.score(texts, y) > 0.9
    assert pipeline.predict(["a ship and a fish in the salt wave"]).tolist() == ["sea"]
    assert pipeline[-1].n_features_in_ == len(pipeline[0].vocabulary_)


def test_in_a_pipeline_that_passes_weights_and_trusted_samples(blobs, quick):
    X, truth, given = blobs
    pipeline = make_pipeline(StandardScaler(), quick())
    pipeline.fit(X, given, robustclassifier__sample_weight=np.ones(240), robustclassifier__X_trusted=X[:30],
                 robustclassifier__y_trusted=truth[:30])  # fmt: skip
    assert pipeline.predict_proba(X).sum(1) == pytest.approx(np.ones(240))


def test_in_a_search_over_parameters(blobs, quick):
    X, truth, _ = blobs
    grid = {"epochs": np.array([1, 15]), "method": ["erm", "cmw-net"]}
    search = GridSearchCV(quick(lr=0.002), grid, cv=2).fit(X, truth)
    assert search.best_params_["epochs"] == 15
    assert search.best_estimator_.score(X, truth) > 0.9


def test_in_cross_validation(blobs, quick):
    X, truth, _ = blobs
    classifier = quick(epochs=10, lr=0.01)
    assert cross_val_score(classifier, X, truth, cv=3, scoring="roc_auc_ovr").min() > 0.9
    held_out = cross_val_predict(classifier, X, truth, cv=3, method="predict_proba")
    assert (held_out.argmax(1) == truth).mean() > 0.9


def test_as_one_of_a_vote(blobs, quick):
    from sklearn.ensemble import VotingClassifier

    X, truth, _ = blobs
    members = [("robust", quick()), ("linear", LogisticRegression())]
    assert VotingClassifier(members, voting="soft").fit(X, truth).score(X, truth) > 0.8
