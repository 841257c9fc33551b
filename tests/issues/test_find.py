import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.datasets import load_digits, make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.model_selection import cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from reweigh import DataError, find_label_issues
from reweigh.issues.find import best_number


def planted(count: int = 900, classes: int = 3, rate: float = 0.15):
    """Labels, a share of them wrong, and predictions of a model that is mostly right."""
    draw = np.random.default_rng(0)
    truth = draw.integers(0, classes, count)
    labels = np.where(draw.random(count) < rate, (truth + 1) % classes, truth)
    logits = draw.normal(0, 1, (count, classes)) + 4 * np.eye(classes)[truth]
    rows = np.exp(logits)
    return labels, rows / rows.sum(1, keepdims=True), truth


def test_planted_mistakes_are_found_and_come_first():
    labels, rows, truth = planted()
    found = find_label_issues(labels, rows)
    wrong = (labels != truth)[found.index]
    flagged = found["is_label_issue"].to_numpy()
    assert wrong[flagged].mean() > 0.9
    assert wrong[flagged].sum() / wrong.sum() > 0.9
    assert found["label_quality"].is_monotonic_increasing
    assert wrong[: wrong.sum()].mean() > 0.9


def test_rows_can_stay_in_order():
    labels, rows, _ = planted(60)
    found = find_label_issues(labels.tolist(), rows.tolist(), ranked=False)
    assert found.index.tolist() == list(range(60))
    assert found["given_label"].tolist() == labels.tolist()
    assert found.sort_values("label_quality", kind="stable").equals(find_label_issues(labels, rows))


@pytest.mark.parametrize(
    ("labels", "rows", "message"),
    [
        ([0, 1], [[0.5, 0.5]], r"labels of shape \(2,\) and pred_probs of shape \(1, 2\)"),
        ([0, 1], [[0.5, 0.5], [0.9, 0.9]], r"pred_probs: row 1 is \[0.9, 0.9\]; each row should sum to one"),
        ([0, 1], [["a", "b"], ["c", "d"]], "pred_probs: not an array of numbers"),
        ([0, 2], [[0.5, 0.5], [0.5, 0.5]], "labels: 0 to 2; give class numbers 0 to 1, the columns"),
        (["a", "b"], [[0.5, 0.5], [0.5, 0.5]], "such as 'a'; give class numbers 0 to 1"),
        ([], np.empty((0, 2)), "pass N labels and N rows"),
    ],
)
def test_bad_input(labels, rows, message):
    with pytest.raises(DataError, match=message):
        find_label_issues(labels, rows)


def test_labels_of_pandas_keep_their_index(recwarn):
    numbers = np.arange(30) % 2
    predictions = pd.DataFrame(np.where(numbers[:, None] == [0, 1], 0.9, 0.1))
    labels = pd.Series(np.where(np.arange(30) == 4, 1, numbers), index=range(130, 100, -1))
    issues = find_label_issues(labels, predictions)
    assert issues.index[0] == 126
    assert issues.loc[labels.index, "given_label"].tolist() == labels.tolist()
    assert find_label_issues(labels, predictions, ranked=False).index.equals(labels.index)
    assert not recwarn.list
    with pytest.raises(DataError, match="such as 'cat'; give class numbers 0 to 1"):
        find_label_issues(pd.Series(["cat", "dog"] * 15), predictions)


def compared(classifier, X, given, truth):
    """Average precision of the ranking, and of the plain probability of the given label; F1 score of the flags."""
    rows = cross_val_predict(classifier, X, given, cv=5, method="predict_proba")
    found, wrong = find_label_issues(given, rows, ranked=False), given != truth
    flagged = found["is_label_issue"].to_numpy()
    plain = rows[np.arange(len(given)), given]
    scores = (average_precision_score(wrong, -each) for each in (found["label_quality"], plain))
    return (*scores, 2 * (flagged & wrong).sum() / (flagged.sum() + wrong.sum()))


def test_the_confusion_of_a_weak_model_is_not_taken_for_that_of_the_labelers():
    X, truth = load_digits(return_X_y=True)
    draw = np.random.default_rng(1)
    given = np.where(draw.random(len(truth)) < 0.13, (truth + draw.integers(1, 10, len(truth))) % 10, truth)
    ranked, plain, flagged = compared(make_pipeline(StandardScaler(), GaussianNB()), X, given, truth)
    assert ranked > 0.9 * plain > 0.4
    assert flagged > 0.37


def test_a_class_of_a_tenth_of_the_samples_is_not_taken_for_wrong_labels():
    X, truth = make_classification(2000, 20, n_informative=5, weights=[0.9], class_sep=0.8, flip_y=0, random_state=1)
    given = np.where(np.random.default_rng(2).random(len(truth)) < 0.1, 1 - truth, truth)
    ranked, plain, flagged = compared(LogisticRegression(), X, given, truth)
    assert ranked > 0.98 * plain > 0.5
    assert flagged > 0.6


def test_the_number_of_flags_maximizes_the_expected_f1_score():
    doubt = torch.from_numpy(np.random.default_rng(0).beta(0.3, 1, 60))
    worst = sorted(doubt.tolist(), reverse=True)
    expected = [2 * sum(worst[:number]) / (number + sum(worst)) for number in range(1, 61)]
    assert best_number(doubt) == int(np.argmax(expected)) + 1
    assert best_number(torch.full((50,), 0.01)) == 0


def test_nothing_is_flagged_if_all_labels_are_predicted():
    labels = np.arange(60) % 3
    assert not find_label_issues(labels, np.eye(3)[labels] * 0.97 + 0.01)["is_label_issue"].any()
    assert not find_label_issues(labels, np.eye(3)[labels])["is_label_issue"].any()
