import numpy as np
import pandas as pd
import pytest
import torch

from reweigh.data.labels.class_numbers import encode
from reweigh.errors import DataError


@pytest.mark.parametrize(("values", "numbers", "names"), [
    ([0, 1, 2, 1], [0, 1, 2, 1], ("0", "1", "2")),
    ([3, 7, 3], [0, 1, 0], ("3", "7")),
    ([-1, 1], [0, 1], ("-1", "1")),
    (["dog", "cat", "dog"], [1, 0, 1], ("cat", "dog")),
    (["9", "10", "9"], [0, 1, 0], ("9", "10")),
    (["007", "7"], [0, 1], ("007", "7")),
    (["99999999999999999999", "1"], [1, 0], ("1", "99999999999999999999")),
    ([True, False], [1, 0], ("False", "True")),
    ([1.0, 0.0], [1, 0], ("0", "1")),
    ([[2], [0]], [1, 0], ("0", "2")),
    (np.array(["b", "a"], dtype=object), [1, 0], ("a", "b")),
    (pd.Series(["b", "a"], dtype="category"), [1, 0], ("a", "b")),
    (torch.tensor([4, 4, 2], dtype=torch.uint8), [1, 1, 0], ("2", "4")),
])  # fmt: skip
def test_the_distinct_values_are_the_classes(values, numbers, names):
    found, found_names = encode(values)
    assert (found.tolist(), found_names) == (numbers, names)
    assert found.dtype == torch.int64


@pytest.mark.parametrize(("values", "numbers"), [
    (["owl", "cat"], [2, 0]),
    ([2, 0], [2, 0]),
    ([9, 0], [9, 0]),  # out of range: for the check of the whole dataset to tell
])  # fmt: skip
def test_given_class_names_fix_the_order(values, numbers):
    found, names = encode(values, ("cat", "dog", "owl"))
    assert found.tolist() == numbers
    assert names == ("cat", "dog", "owl")


def test_numbers_that_are_names():
    assert encode([5, 3], ("3", "5"))[0].tolist() == [1, 0]


@pytest.mark.parametrize(("values", "message"), [
    ([0.0, float("nan")], r"labels: 1 of 2 is missing: row 1; label these rows or drop them"),
    (["a", None, "b"], r"1 of 3 is missing: row 1;"),
    (["a", float("nan"), "b"], r"1 of 3 is missing: row 1;"),
    ([0.5, 1.0], r"1 of 2 not whole numbers, such as 0\.5 in row 0; a classifier needs classes"),
    (np.eye(3), r"shape \(3, 3\); give one label per sample, shape \(N,\); take the argmax of one-hot rows"),
    (5, r"shape \(\)"),
])  # fmt: skip
def test_what_is_no_label(values, message):
    with pytest.raises(DataError, match=message):
        encode(values)


def test_an_unknown_name_is_told_with_its_rows_and_the_nearest():
    with pytest.raises(
        DataError, match=r"no class named 'dgo' \(rows 1, 2\); there are: cat, dog\. Did you mean 'dog'\?"
    ):
        encode(["cat", "dgo", "dgo"], ("cat", "dog"))


def test_class_names_twice():
    with pytest.raises(DataError, match="class names: 'a' more than once"):
        encode([0, 1], ("a", "a"))
