"""y in its forms."""

import numpy as np
import pandas as pd
import pytest
import torch

from reweigh.estimator.targets import read_more_targets, read_targets


@pytest.mark.parametrize(
    ("y", "classes", "labels"),
    [
        ([3, 1, 3], [1, 3], [1, 0, 1]),
        (["b", "a", "b"], ["a", "b"], [1, 0, 1]),
        ([True, False, True], [False, True], [1, 0, 1]),
        ([1.0, -1.0, 1.0], [-1.0, 1.0], [1, 0, 1]),
        (torch.tensor([5, 2, 5]), [2, 5], [1, 0, 1]),
        (pd.Series(["x", "y", "x"], dtype="category"), ["x", "y"], [0, 1, 0]),
        (np.array(["x", "y", "x"], dtype=object), ["x", "y"], [0, 1, 0]),
        (["10", "9", "10"], ["10", "9"], [0, 1, 0]),
        (pd.Series([True, None, False, True], dtype=object).dropna(), [False, True], [1, 0, 1]),
        (np.array([2, 1, 2], dtype=object), [1, 2], [1, 0, 1]),
    ],
)
def test_labels_keep_their_type(y, classes, labels):
    targets = read_targets(y, 3)
    assert targets.classes.tolist() == classes
    assert [type(value) for value in targets.classes.tolist()] == [type(value) for value in classes]
    assert targets.labels.tolist() == labels
    assert targets.rows is None


def test_soft_labels_are_kept_and_their_likeliest_class_is_the_label():
    rows = [[0.2, 0.5, 0.3], [0.9, 0.1, 0.0], [0.3, 0.3, 0.4], [1, 0, 0]]
    targets = read_targets(rows, 4)
    assert targets.labels.tolist() == [1, 0, 2, 0]
    assert targets.classes.tolist() == [0, 1, 2]
    assert targets.rows is not None
    assert torch.allclose(targets.rows, torch.tensor(rows))
    assert read_targets(pd.DataFrame(rows, columns=list("xyz")), 4).classes.tolist() == ["x", "y", "z"]


def test_other_samples_are_numbered_by_the_same_classes():
    assert read_more_targets(["b", "b"], np.array(["a", "b"]), 2, "y").labels.tolist() == [1, 1]
    assert read_more_targets([[0.1, 0.9]], np.array([0, 1]), 1, "y").labels.tolist() == [1]
