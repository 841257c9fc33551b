import numpy as np
import pandas as pd
import pytest

from reweigh import DataError, find_label_issues


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
