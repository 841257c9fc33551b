"""Labels with gaps: what counts as none, and that the others are numbered as ever."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from reweigh.data import from_arrays, read
from reweigh.data.labels.class_numbers import encode
from reweigh.data.named.own_files import files
from reweigh.data.readers.reader import Request
from reweigh.data.readers.table import from_frame
from reweigh.data.source import Source
from reweigh.errors import DataError


@pytest.mark.parametrize(
    ("values", "labels", "names"),
    [
        ([3, -1, 1, 3], [1, -1, 0, 1], ("1", "3")),
        ([3.0, float("nan"), 1.0, -1.0], [1, -1, 0, -1], ("1", "3")),
        (["b", "", "a", "-1"], [1, -1, 0, -1], ("a", "b")),
        (["b", " ", "a", None], [1, -1, 0, -1], ("a", "b")),
        (np.array([10, None, 9, 9], dtype=object), [1, -1, 0, 0], ("9", "10")),
        (["10", "9", "", "9"], [1, 0, -1, 0], ("9", "10")),
        (pd.array(["b", pd.NA, "a", "a"]), [1, -1, 0, 0], ("a", "b")),
        ([True, None, False, True], [1, -1, 0, 1], ("False", "True")),
    ],
)
def test_none_and_minus_one_are_no_labels(values, labels, names):
    found, classes = encode(values, unlabeled=True)
    assert found.tolist() == labels
    assert classes == names


def test_with_names_known_beforehand():
    assert encode(["cat", "", "owl"], ("owl", "cat"), unlabeled=True)[0].tolist() == [1, -1, 0]


def test_no_label_at_all():
    with pytest.raises(DataError, match="here: all 3 are missing; label a few samples of each class"):
        encode([-1, -1, -1], what="here", unlabeled=True)


@pytest.fixture
def table(tmp_path):
    frame = pd.DataFrame({"x": np.arange(40.0), "kind": ["a", "b", "", ""] * 10})
    frame.to_csv(tmp_path / "table.csv", index=False)
    return tmp_path


def test_empty_cells_of_a_table_are_refused_unless_wanted(table):
    with pytest.raises(DataError, match=r"20 of 40 are missing.*data.unlabeled=true, method.name=pseudo-label"):
        read(table / "table.csv", label="kind")
    data = read(table / "table.csv", label="kind", unlabeled=True)
    assert data.labels.tolist() == [0, 1, -1, -1] * 10
    assert data.class_names == ("a", "b")


def test_only_labeled_samples_are_held_out(table):
    train, test = files(table, path="table.csv", label="kind", unlabeled=True)
    assert len(test) == 4
    assert int(test.labels.min()) == 0
    assert len(train) == 36
    assert int(train.labeled.sum()) == 16


def test_arrays_and_label_files(tmp_path):
    inputs, labels = np.random.default_rng(0).normal(size=(6, 3)), [0, 1, -1, 0, 1, -1]
    assert from_arrays(inputs, labels, unlabeled=True).labels.tolist() == labels
    assert from_arrays(inputs, labels).class_names == ("-1", "0", "1")  # a class like any other
    np.savez(tmp_path / "both.npz", X=inputs, y=labels)
    assert read(tmp_path / "both.npz", unlabeled=True).labels.tolist() == labels
    np.savez(tmp_path / "full.npz", X=inputs, y=[0, 1, 0, 0, 1, 1])
    (tmp_path / "labels.csv").write_text("index,label\n0,0\n1,1\n2,\n3,0\n4,\n5,-1\n")
    found = read(tmp_path / "full.npz", labels=tmp_path / "labels.csv", unlabeled=True)
    assert found.labels.tolist() == [0, 1, -1, 0, -1, -1]
    frame = pd.DataFrame({"x": np.arange(4.0), "y": [1.0, None, 0.0, None]})
    assert torch.equal(
        from_frame(frame, Request(Source(Path(), label="y"), unlabeled=True)).labels, torch.tensor([1, -1, 0, -1])
    )


def test_a_class_without_a_label(tmp_path):
    with pytest.raises(DataError, match="no labeled sample of 'c'"):
        from_arrays(np.zeros((5, 2)), ["a", "b", "", "b", "a"], class_names=["a", "b", "c"], unlabeled=True)
    with pytest.raises(DataError, match="2 labeled samples for 3 classes"):
        from_arrays(np.zeros((5, 2)), ["a", "b", "", "", ""], class_names=["a", "b", "c"], unlabeled=True)
