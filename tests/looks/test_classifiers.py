"""Classifiers of scikit-learn's kind as looks: what they learn, what they give, and what is refused."""

import pickle

import numpy as np
import pytest
import torch
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from reweigh import RobustClassifier
from reweigh.data import Dataset
from reweigh.looks import LogisticRegressions, OwnClassifier
from reweigh.looks.classifiers import as_module
from reweigh.training.state import Stages

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(300, 4)).astype(np.float32)
TRUE = (ROWS[:, 0] > 0).astype(int) + (ROWS[:, 1] > 0.3)
GIVEN = np.where(RNG.random(300) < 0.2, (TRUE + 1) % 3, TRUE)
QUICK = {"random_state": 0, "epochs": 6}


def look_by(kind, targets, prior=False, **more):
    dataset = Dataset(torch.from_numpy(ROWS), torch.from_numpy(GIVEN), ("a", "b", "c"))
    return kind(dataset, targets, Stages(), 0, prior, **more)


def test_each_sample_is_predicted_by_a_classifier_that_did_not_see_it_and_learns_all_its_classes():
    targets = torch.nn.functional.one_hot(torch.from_numpy(GIVEN), 3).float()
    soft = 0.7 * targets + 0.3 * targets.roll(1, 1)
    fold = torch.arange(300) % 3
    look = look_by(OwnClassifier, targets, classifier=LogisticRegression()).first(fold, 3)
    again = look_by(OwnClassifier, targets, classifier=LogisticRegression()).again(soft, fold, look)
    for found, wanted in ((look, targets), (again, soft)):
        for number in range(3):
            seen, unseen = (fold != number).numpy(), (fold == number).numpy()
            rows = np.repeat(ROWS[seen], 3, 0)
            classes, weight = np.tile(range(3), seen.sum()), wanted[torch.from_numpy(seen)].flatten().numpy()
            oracle = LogisticRegression().fit(rows[weight > 0], classes[weight > 0], sample_weight=weight[weight > 0])
            shares = wanted[torch.from_numpy(seen)].mean(0).log().numpy()
            logs = oracle.predict_log_proba(ROWS[unseen]) - shares
            logs -= np.log(np.exp(logs).sum(1, keepdims=True))
            assert np.allclose(found.unseen[torch.from_numpy(unseen)], logs, atol=1e-3)


@pytest.mark.parametrize("classes", [2, 3])
def test_logistic_regression_as_tensors_predicts_the_same(classes):
    given = np.minimum(GIVEN, classes - 1)
    targets = torch.nn.functional.one_hot(torch.from_numpy(given), classes).float()
    kind = look_by(LogisticRegressions, targets)
    regression = LogisticRegression().fit(ROWS, given)
    found = kind._module(regression)(torch.from_numpy(ROWS)).softmax(1)
    assert np.allclose(found, regression.predict_proba(ROWS), atol=1e-6)


def test_a_class_that_a_classifier_never_saw():
    some = GIVEN != 1
    forest = RandomForestClassifier(5, random_state=0).fit(ROWS[some], GIVEN[some] // 2)
    found = as_module(forest, np.array([0, 2]), 3)(torch.from_numpy(ROWS)).softmax(1)
    assert found[:, 1].max() < 1e-3
    assert np.allclose(found[:, [0, 2]], forest.predict_proba(ROWS), atol=1e-3)


@pytest.mark.parametrize("model", ["boosted-trees", LogisticRegression()])
def test_classes_missing_in_a_fold(model):
    given = np.where(np.arange(300) == 7, "once", np.array(["a", "b", "c"])[GIVEN])
    classifier = RobustClassifier(model=model, **QUICK).fit(ROWS, given)
    assert classifier.predict_proba(ROWS).shape == (300, 4)
    assert classifier.score(ROWS, np.array(["a", "b", "c"])[TRUE]) > 0.65


@pytest.mark.parametrize("model", ["boosted-trees", HistGradientBoostingClassifier(max_iter=10)])
def test_trees_are_stored_as_tensors(model, tmp_path):
    classifier = RobustClassifier(model=model, **QUICK).fit(ROWS, GIVEN)
    assert classifier.score(ROWS, TRUE) > 0.85
    classifier.save(tmp_path / "c.reweigh")
    loaded = RobustClassifier.load(tmp_path / "c.reweigh")
    assert (loaded.predict_proba(ROWS) == classifier.predict_proba(ROWS)).all()


def test_a_pipeline_is_used_as_it_is_and_only_pickled(tmp_path):
    model = make_pipeline(StandardScaler(), RandomForestClassifier(20, random_state=0))
    classifier = RobustClassifier(model=model, **QUICK).fit(ROWS, GIVEN)
    assert classifier.score(ROWS, TRUE) > 0.85
    assert not hasattr(model, "classes_")  # the user's own was not fitted
    again = pickle.loads(pickle.dumps(classifier))
    assert (again.predict_proba(ROWS) == classifier.predict_proba(ROWS)).all()
    with pytest.raises(ValueError, match="Pipeline cannot be stored without pickle"):
        classifier.save(tmp_path / "c.reweigh")


def test_trees_that_split_categories_cannot_be_stored_as_tensors(tmp_path):
    rows = np.column_stack([ROWS, np.arange(300) % 4])
    model = HistGradientBoostingClassifier(max_iter=5, categorical_features=[4])
    classifier = RobustClassifier(model=model, **QUICK).fit(rows, GIVEN)
    assert classifier.score(rows, TRUE) > 0.8
    with pytest.raises(ValueError, match="HistGradientBoostingClassifier cannot be stored without pickle"):
        classifier.save(tmp_path / "c.reweigh")


class Raises(LogisticRegression):
    def fit(self, X, y, sample_weight=None):
        raise FloatingPointError("singular")


def test_trees_of_thousands_of_classes_are_refused():
    labels = np.arange(4000) // 2
    with pytest.raises(ValueError, match=r"boosted trees .* 2,000 classes .* at most 1,000"):
        RobustClassifier(model="boosted-trees", **QUICK).fit(np.zeros((4000, 2)) + labels[:, None], labels)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"model": SVC()}, "SVC has no predict_proba.*probability=True"),
        ({"model": KNeighborsClassifier()}, "fit of KNeighborsClassifier takes no sample_weight"),
        ({"model": Raises()}, "Raises could not be fitted.*FloatingPointError: singular"),
        (
            {"model": LogisticRegression(), "method": "erm"},
            "LogisticRegression is trained by the method 'two-looks' only",
        ),
        ({"model": "boosted-trees", "method": "erm"}, "'boosted-trees' are trained by the method 'two-looks' only"),
    ],
)
def test_refused_in_plain_words_before_any_network_is_trained(params, message):
    epochs = []
    with pytest.raises(ValueError, match=message):
        RobustClassifier(**QUICK, **params, callbacks=epochs.append).fit(ROWS, GIVEN)
    assert not epochs
