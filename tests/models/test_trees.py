"""Trees as tensors against those of scikit-learn: the same predictions, also from bins, stored and read again."""

import numpy as np
import pytest
import torch
from sklearn.ensemble import HistGradientBoostingClassifier

from reweigh.models.ensemble import Ensemble, rebuilt
from reweigh.models.trees import MAX_BINS, Trees, bin_edges, bins

RNG = np.random.default_rng(0)


def data(classes, n=600, features=5):
    rows = RNG.normal(size=(n, features)).astype(np.float32)
    rows[:, 0] = RNG.integers(0, 3, n)  # few distinct values
    rows[:, 1] = rows[:, 1].round(1)
    labels = (rows @ RNG.normal(size=(features, classes)) + RNG.normal(size=(n, classes))).argmax(1)
    return rows, labels


@pytest.mark.parametrize("classes", [2, 3, 7])
def test_the_same_predictions_as_scikit_learn(classes):
    rows, labels = data(classes)
    booster = HistGradientBoostingClassifier(max_iter=12, random_state=0).fit(rows, labels)
    new = np.concatenate([data(classes)[0], rows])  # on thresholds, too
    trees = Trees.of(booster, classes)
    np.testing.assert_allclose(trees(torch.from_numpy(new)).softmax(1), booster.predict_proba(new), atol=1e-6)
    *_, third = (each for _, each in zip(range(3), booster.staged_predict_proba(new), strict=False))
    some = Trees.of(booster, classes, iterations=3)
    np.testing.assert_allclose(some(torch.from_numpy(new)).softmax(1), third, atol=1e-6)


def test_fitted_on_bins_they_take_the_cells_themselves():
    rows, labels = data(3)
    edges = bin_edges(rows)
    assert max(map(len, edges)) < MAX_BINS
    weight = RNG.random(len(rows))
    booster = HistGradientBoostingClassifier(max_iter=12, random_state=0).fit(bins(rows, edges), labels, weight)
    new = np.concatenate([data(3)[0], rows, 1e30 * rows])
    trees = Trees.of(booster, 3, edges=edges)
    expected = booster.predict_proba(bins(new, edges))
    np.testing.assert_allclose(trees(torch.from_numpy(new)).softmax(1), expected, atol=1e-6)


def test_bins_divide_cells_as_their_edges_do():
    rows, _ = data(2)
    edges = bin_edges(rows)
    found = bins(rows, edges)
    for feature, ends in enumerate(edges):
        for j, end in enumerate(ends):
            assert np.array_equal(rows[:, feature] <= end, found[:, feature] <= j)


def test_classes_that_were_never_seen():
    rows, labels = data(2)
    booster = HistGradientBoostingClassifier(max_iter=3).fit(rows, np.where(labels == 0, 1, 4))
    chances = Trees.of(booster, 6)(torch.from_numpy(rows)).softmax(1)
    assert float(chances[:, [0, 2, 3, 5]].max()) < 1e-6
    np.testing.assert_allclose(chances[:, [1, 4]], booster.predict_proba(rows), atol=1e-6)


def test_stored_in_an_ensemble_beside_a_network():
    rows, labels = data(3)
    trees = Trees.of(HistGradientBoostingClassifier(max_iter=3).fit(rows, labels), 3)
    mixed = Ensemble([torch.nn.Linear(5, 3), trees], [0.25, 0.75])
    again = rebuilt(mixed.state_dict(), lambda: torch.nn.Linear(5, 3))
    again.load_state_dict(mixed.state_dict())
    assert torch.equal(again(torch.from_numpy(rows)), mixed(torch.from_numpy(rows)))


def test_they_can_be_exported_for_any_number_of_rows():
    rows, labels = data(3)
    trees = Trees.of(HistGradientBoostingClassifier(max_iter=4, random_state=0).fit(rows, labels), 3)
    model, inputs = Ensemble([torch.nn.Linear(5, 3), trees]).eval(), torch.from_numpy(rows)
    number = {0: torch.export.Dim("n", min=1)}
    exported = torch.export.export(model, (inputs[:7],), dynamic_shapes=(number,)).module()
    for some in (inputs[:1], inputs):
        torch.testing.assert_close(exported(some), model(some))
