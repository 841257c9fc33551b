"""Training on: warm starts, more samples, and what users of skorch and MLPClassifier set."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import nn

from reweigh import RobustClassifier

X, Y = make_classification(240, 6, n_informative=4, n_redundant=0, n_classes=3, random_state=0)
X = X.astype(np.float32)
LABELS = np.array(["ash", "elm", "oak"])[Y]


def _made(method: str = "erm", **options: Any) -> RobustClassifier:
    return RobustClassifier(method, **{"epochs": 4, "random_state": 0, **options})


def _weights(classifier: RobustClassifier) -> torch.Tensor:
    return torch.cat([p.flatten() for p in classifier.model_.parameters()]).detach()


def test_a_warm_start_goes_on_and_a_cold_one_does_not() -> None:
    """A rate so small that nothing moves shows where training began."""
    cold, warm = _made().fit(X, LABELS), _made(warm_start=True).fit(X, LABELS)
    before = _weights(warm)
    assert torch.equal(_weights(cold), before)
    for classifier in (cold, warm):
        classifier.set_params(lr=1e-12, random_state=1).fit(X, LABELS)
    torch.testing.assert_close(_weights(warm), before, atol=1e-6, rtol=0)
    assert not torch.allclose(_weights(cold), before, atol=1e-2)


@pytest.mark.parametrize("method", ["two-looks", "cmw-net", "erm"])
def test_more_samples_of_a_table_are_read_as_the_first(method: str) -> None:
    table = pd.DataFrame({"width": X[:, 0] * 100 + 7, "color": np.where(Y > 0, "red", "blue"), "x": X[:, 1]})
    classifier = _made(method).partial_fit(table[:120], LABELS[:120])
    encoding = classifier._fit.inputs
    classifier.partial_fit(table[120:], LABELS[120:])
    assert classifier._fit.inputs == encoding
    assert classifier.label_issues_.index.sort_values().tolist() == list(range(120, 240))
    assert classifier.score(table, LABELS) > 0.5


def test_classes_that_the_first_samples_lack() -> None:
    first = LABELS != "oak"
    classifier = _made().partial_fit(X[first], LABELS[first], classes=["oak", "ash", "elm"])
    assert classifier.classes_.tolist() == ["ash", "elm", "oak"]
    assert classifier.predict_proba(X).shape == (240, 3)
    for _ in range(3):
        classifier.partial_fit(X, LABELS, classes=["ash", "elm", "oak"])
    assert "oak" in classifier.predict(X)
    with pytest.raises(ValueError, match="classes: not those of the first call, which were 'ash', 'elm', 'oak'"):
        classifier.partial_fit(X, LABELS, classes=["ash", "elm"])
    with pytest.raises(ValueError, match=r"y: no class 'fir' \(rows 0\); the classes of y: 'ash'"):
        classifier.partial_fit(X, np.where(np.arange(240) == 0, "fir", LABELS))


def test_what_cannot_go_on() -> None:
    classifier = _made(model=nn.Sequential(nn.Linear(6, 3)), warm_start=True).fit(X, LABELS)
    with pytest.raises(ValueError, match="6 features as input"):
        classifier.fit(X[:, :5], LABELS)
    classifier.set_params(model=nn.Sequential(nn.Linear(6, 9), nn.Linear(9, 3)))
    with pytest.raises(ValueError, match="model: not the network that was trained before"):
        classifier.fit(X, LABELS)
    mask = np.eye(3, dtype=bool)[Y] | (np.arange(240) % 2 == 0)[:, None]
    with pytest.raises(ValueError, match="a classifier of candidate labels cannot continue training"):
        _made("proden", candidates=True).partial_fit(X, mask).partial_fit(X, mask)


def test_it_goes_on_after_loading(tmp_path: Any) -> None:
    classifier = _made(warm_start=True, optimizer=torch.optim.Adam, callbacks=print).fit(X, LABELS)
    classifier.save(tmp_path / "trees.reweigh")
    loaded = RobustClassifier.load(tmp_path / "trees.reweigh")
    assert (loaded.optimizer, loaded.callbacks, loaded.warm_start) == ("adam", None, True)
    again = [_weights(each.set_params(callbacks=None).fit(X, LABELS)) for each in (classifier, loaded)]
    assert torch.equal(*again)


@pytest.mark.parametrize(
    ("options", "name", "expected"),
    [
        ({"optimizer": "sgd"}, "sgd", {"lr": 0.1, "weight_decay": 5e-4}),
        ({"optimizer": torch.optim.SGD, "lr": 0.05, "weight_decay": 0.2}, "sgd", {"lr": 0.05, "weight_decay": 0.2}),
        ({"weight_decay": np.float64(0.3)}, "adamw", {"lr": 1e-3, "weight_decay": 0.3}),
        ({"optimizer": "adam"}, "adam", {"lr": 1e-3, "weight_decay": 0.0}),
    ],
)
def test_optimizers(options: dict[str, Any], name: str, expected: dict[str, float]) -> None:
    part = clone(_made(epochs=1, **options)).fit(X, LABELS).plan_.optimizer
    assert part.name == name
    assert {key: part.options[key] for key in expected} == expected


def test_a_fraction_for_validation_judges() -> None:
    history = _made(validation_fraction=0.2).fit(X, LABELS).history_
    assert {"judge_accuracy", "judge_keeps"} <= set(history.columns), history.columns


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"optimizer": "rmsprop"}, "optimizer: no optimizer named 'rmsprop'; there are: adam, adamw, sgd"),
        ({"weight_decay": -1.0}, "weight_decay: got -1"),
        ({"validation_fraction": 2}, r"validation_fraction: got 2; should be less than or equal to 0\.5"),
        ({"validation_fraction": 0.05, "method": "two-looks"}, "two-looks judges its looks by held-out samples"),
        ({"callbacks": 3}, "callbacks: got 3; pass a function, or a list of functions"),
        ({"callbacks": ["print"]}, "callbacks: got"),
        ({"warm_start": "yes"}, "warm_start: got 'yes'; should be true or false"),
    ],
)
def test_parameters_that_cannot_be(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        _made(**options).fit(X, LABELS)


@pytest.mark.parametrize("verbose", [False, True])
def test_callbacks_see_each_epoch(verbose: bool) -> None:
    seen: list[dict[str, Any]] = []
    classifier = _made("two-looks", epochs=8, callbacks=[seen.append, lambda numbers: None], verbose=verbose)
    history = classifier.fit(X, LABELS).history_
    pd.testing.assert_frame_equal(pd.DataFrame(seen), history)


def test_trusted_samples_in_a_pipeline() -> None:
    """As documented: ``transform_input`` scales X_trusted as X, against scaling both by hand."""
    checked = X[:30], LABELS[:30]
    shifted = 1000 + 50 * X
    with config_context(enable_metadata_routing=True):
        classifier = _made("cmw-net").set_fit_request(X_trusted=True, y_trusted=True)
        pipeline = make_pipeline(StandardScaler(), classifier, transform_input=["X_trusted"])
        pipeline.fit(shifted, LABELS, X_trusted=1000 + 50 * checked[0], y_trusted=checked[1])
    scaler = StandardScaler().fit(shifted)
    by_hand = _made("cmw-net").fit(
        scaler.transform(shifted), LABELS, X_trusted=scaler.transform(1000 + 50 * checked[0]), y_trusted=checked[1]
    )
    assert torch.equal(_weights(pipeline[-1]), _weights(by_hand))
    assert not torch.equal(_weights(pipeline[-1]), _weights(_made("cmw-net").fit(scaler.transform(shifted), LABELS)))


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (X[:, 0], r"numbers such as -?\d\.\d+ look like a quantity, not classes \(Unknown label type: continuous\)"),
        ([["a", "b"]] * 240, "pass one label per sample, shape .*MultiOutputClassifier"),
        ([["a"], ["a", "b"]] * 120, "y: labels are lists or the like; pass one number, string or boolean"),
        (pd.Series([["a"], ["a", "b"]] * 120), r"such as \['a'\]; pass one number, string or boolean"),
        (pd.Series([{"a": 1}] * 240), r"such as \{'a': 1\}"),
    ],
)
def test_targets_that_are_not_classes(y: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        _made().fit(X, y)


@pytest.mark.parametrize("rows", [[[1, 2], [3]] * 120, np.array([[[1], 2]] * 240, dtype=object)], ids=["rows", "cells"])
def test_rows_that_are_not_numbers(rows: Any) -> None:
    with pytest.raises(ValueError, match="X: rows of different lengths, or cells that hold lists; pass one number"):
        _made().fit(rows, LABELS)


def test_several_labels_by_the_way_that_the_message_names() -> None:
    several = MultiOutputClassifier(_made(epochs=1)).fit(X, np.c_[Y, Y % 2])
    assert several.predict(X).shape == (240, 2)
