"""Each mistake ends in one clear message, before any training."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from reweigh import DataError, RecipeError, RobustClassifier

X = np.random.default_rng(0).normal(size=(12, 3))
Y = np.arange(12) % 3
NAMES = np.array(["ant", "bee", "cat"])[Y]


def fit(X=X, y=Y, options=None, **more):
    return RobustClassifier(**{"epochs": 2, **(options or {})}).fit(X, y, **more)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.where(Y == 1, np.nan, Y), "y: 4 of 12 labels are missing .*rows 1, 4, 7, 10"),
        ([None, *NAMES[1:]], "y: 1 of 12 labels are missing .*rows 0"),
        (pd.Series(NAMES).where(Y != 2), "y: 4 of 12 labels are missing"),
        (Y[:11], "y: 11 labels for 12 samples"),
        (np.zeros(12), "y: all 12 labels are of one class, .*0.0.*; a classifier needs two or more"),
        (np.arange(12), "y: 12 classes for 12 samples"),
        ([1, "a"] * 6, "y: labels of several types, int, str"),
        (np.linspace(0, 1, 12), "Unknown label type"),
        (np.full((12, 15), 1 / 15), "y: 15 classes for 12 samples|one class"),
        (
            np.full((12, 3), 0.5),
            "y: shape .* each row should be the probabilities .*rows 0, 1, 2, 3, 4 and 7 more are not",
        ),
        (np.array([["a", "b"]] * 12), "y: shape .* pass one label per sample"),
        (None, "requires y to be passed"),
        ("ant", "'ant' is not an array; pass one label per sample"),
    ],
)
@pytest.mark.filterwarnings("ignore:The number of unique classes")
def test_labels(y, message):
    with pytest.raises(ValueError, match=message):
        fit(y=y)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (np.where(X > 2, np.nan, X) * np.nan, "X: all values are NaN"),
        (np.abs(X) * np.inf, "infinity"),
        (["some text", "another"] * 6, "X: strings; pass a DataFrame"),
        (np.array([[1.0, "red"], [2.0, "blue"]] * 6, dtype=object), "X: strings; pass a DataFrame"),
        ([[1.0, None, "red"]] * 12, "X: strings; pass a DataFrame"),
        ("table.csv", "X: got str; pass rows of numbers, a DataFrame"),
        ({"a": X[:, 0]}, "X: got dict; pass rows of numbers"),
        (None, "X: got NoneType; pass rows of numbers"),
        (X[:, 0], "Expected 2D array"),
        (X[:0], r"0 sample\(s\)"),
        (pd.DataFrame(X[:0]), r"0 sample\(s\)"),
        (pd.DataFrame(X, columns=["a", "b", "a"]), "X: columns 'a' occur more than once; give each its own name"),
        (pd.DataFrame(X * np.inf), "infinite"),
    ],
)
def test_samples(given, message):
    with pytest.raises(ValueError, match=message):
        fit(X=given)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (-np.ones(12), "sample_weight: 12 of 12 are negative: rows 0"),
        (np.r_[np.nan, np.ones(11)], "sample_weight: 1 of 12 are NaN or infinite: rows 0"),
        (np.ones(11), r"sample_weight: shape \(11,\) for 12 samples"),
        (np.ones((12, 2)), r"sample_weight: shape \(12, 2\)"),
        (np.zeros(12), "all weights are zero"),
        (Y == 1, "above zero for class 1 only"),
        (["heavy"] * 12, "sample_weight: not numbers; pass one number per sample"),
    ],
)
def test_sample_weights(weights, message):
    with pytest.raises(DataError, match=message):
        fit(sample_weight=weights)


@pytest.mark.parametrize("weights", [{0: -1.0, 1: 1, 2: 1}, {0: np.nan, 1: 1, 2: 1}, "evenly", [1, 2, 3], {"ant": 2}])
def test_class_weights(weights):
    with pytest.raises(ValueError, match="class_weight"):
        fit(options={"class_weight": weights})


@pytest.mark.parametrize(
    ("trusted", "message"),
    [
        ({"X_trusted": X}, "X_trusted: given without y_trusted"),
        ({"y_trusted": Y}, "y_trusted: given without X_trusted"),
        (
            {"X_trusted": X[:, :2], "y_trusted": NAMES},
            "X_trusted: X has 2 features, but RobustClassifier is expecting 3",
        ),
        ({"X_trusted": X, "y_trusted": NAMES[:4]}, "y_trusted: 4 labels for 12 samples"),
        (
            {"X_trusted": X[:2], "y_trusted": ["dog", "ant"]},
            r"y_trusted: no class 'dog' \(rows 0\).*'ant', 'bee', 'cat'",
        ),
        ({"X_trusted": X[:2], "y_trusted": ["ant", None]}, "y_trusted: 1 of 2 labels are missing"),
        (
            {"X_trusted": X[:2], "y_trusted": np.eye(2)},
            "y_trusted: soft labels of classes 0, 1, but y has ant, bee, cat",
        ),
        ({"X_trusted": X[:1], "y_trusted": ["ant"]}, "X_trusted: 1 sample; pass two or more"),
    ],
)
def test_trusted_samples(trusted, message):
    with pytest.raises(DataError, match=message):
        fit(y=NAMES, **trusted)


def test_all_wrong_parameters_come_in_one_message():
    options = {"epochs": 0, "batch_size": 2.5, "lr": -1, "scoring": "magic"}
    options |= {"method": "cmw-net", "method_options": {"evry": 3}}
    with pytest.raises(RecipeError) as raised:
        fit(options=options)
    for words in [
        "RobustClassifier: 5 mistakes",
        "\n  epochs: got 0",
        "\n  batch_size: got 2.5",
        "\n  lr: got -1",
        "\n  scoring: got 'magic'",
        "\n  method_options.evry: cmw-net has no option 'evry'",
        "Did you mean 'every'?",
    ]:
        assert words in str(raised.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "cmwnet"}, "no method named 'cmwnet'.*Did you mean 'cmw-net'"),
        ({"method": "CMW-Net"}, "no method named 'CMW-Net'.*Did you mean 'cmw-net'"),
        ({"method_options": 3}, "method_options: got 3; should be a dict"),
        ({"method": "cmw-net", "method_options": {"every": "often"}}, "method_options.every: got 'often'"),
        ({"device": "cuda:99"}, "device: 'cuda:99' is not available here; allowed: auto, cpu"),
        ({"model": 3}, "model: got 3; pass a torch.nn.Module"),
        ({"model": "mpl"}, "no model named 'mpl'"),
    ],
)
def test_parameters(options, message):
    with pytest.raises(ValueError, match=message):
        fit(options=options)


def test_a_number_of_numpy_is_a_number():
    fit(
        options={
            "epochs": np.int64(2),
            "lr": np.float32(0.01),
            "method": "cmw-net",
            "method_options": {"every": np.int64(2)},
        }
    )


def test_prediction():
    with pytest.raises(NotFittedError):
        RobustClassifier().predict(X)
    with pytest.raises(NotFittedError):
        _ = RobustClassifier().label_issues_
    classifier = fit()
    with pytest.raises(ValueError, match="X has 2 features, but RobustClassifier is expecting 3"):
        classifier.predict(X[:, :2])
    with pytest.raises(ValueError, match="X: contains NaN"):
        classifier.predict(X * np.nan)


def test_too_large_a_rate_is_called_by_its_name():
    with pytest.raises(RuntimeError, match=r"lower the learning rate \(lr\)"):
        fit(X=X * 1e18, options={"lr": 1e30, "epochs": 5, "batch_size": 6})


def test_spellings_of_one_class_are_reported(caplog):
    fit(y=np.where(np.arange(12) == 3, "Ant ", NAMES), options={"method": "erm"})
    assert "y: labels that are probably spellings of one class: 'ant' = 'Ant '" in caplog.text
    assert "--join-labels" not in caplog.text
