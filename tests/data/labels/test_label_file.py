from dataclasses import replace

import numpy as np
import pytest
import torch

from reweigh.data import Dataset
from reweigh.data.dataset import Reading
from reweigh.data.labels.label_file import override, read_labels
from reweigh.errors import DataError

NAMES = ("cat", "dog", "owl")


def write(path, text: str):
    path.write_text(text)
    return path


@pytest.mark.parametrize("values", [np.array([2, 0, 1]), np.array([2.0, 0.0, 1.0]), np.array(["owl", "cat", "dog"])])
def test_npy(tmp_path, values):
    np.save(tmp_path / "labels.npy", values)
    assert read_labels(tmp_path / "labels.npy", 3, NAMES).tolist() == [2, 0, 1]


@pytest.mark.parametrize("text", [
    "label\nowl\ncat\ndog\n",
    "anything\n2\n0\n1\n",
    "index,label\n1,cat\n2,dog\n0,owl\n",
    "annotator,label\nx,2\ny,0\nz,1\n",
    "index,given_label,weight\n0,2,0.5\n1,0,0.1\n2,1,0\n",
])  # fmt: skip
def test_csv(tmp_path, text):
    assert read_labels(write(tmp_path / "labels.csv", text), 3, NAMES).tolist() == [2, 0, 1]


def test_a_class_may_be_called_na(tmp_path):
    path = write(tmp_path / "labels.csv", "label\nNA\nnull\n")
    assert read_labels(path, 2, ("null", "NA")).tolist() == [1, 0]


@pytest.mark.parametrize(("text", "message"), [
    ("label\n0\n1\n", r"labels\.csv: 2 labels for 3 samples; give one per sample, in the order of the data"),
    ("label\n0\n1\n9\n", r"1 outside 0\.\.2: 9 \(row 2\)"),
    ("label\ncat\ndog\nelk\n", r"no class named 'elk' \(row 2\); there are: cat, dog, owl"),
    ("label\ncat\n\"\"\nowl\n", r"no class named ''"),
    ("index,label\n0,0\n0,1\n5,2\n", r"3 mistakes\n.*0 more than once.*\n.*5 not a sample.*\n.*1, 2 without a label"),
    ("index,label\na,0\nb,1\nc,2\n", r"column 'index': .*give whole numbers from 0"),
    ("a,b\n0,1\n0,1\n0,1\n", r"no column of labels; it has: a, b. Call the column 'label'"),
    ("", r"the file is empty; a table needs a header and rows"),
])  # fmt: skip
def test_bad_csv(tmp_path, text, message):
    with pytest.raises(DataError, match=message):
        read_labels(write(tmp_path / "labels.csv", text), 3, NAMES)


def test_other_endings_and_absent_files(tmp_path):
    with pytest.raises(DataError, match=r"a label file is a \.npy or a table such as \.csv; got '\.doc'"):
        read_labels(write(tmp_path / "labels.doc", "0"), 1, NAMES)
    for name in ("none.npy", "none.csv"):
        with pytest.raises(DataError, match="there is no such file"):
            read_labels(tmp_path / name, 1, NAMES)


@pytest.mark.parametrize("values", [np.zeros((2, 3)), np.array(1)])
def test_an_array_that_is_not_a_row_of_labels(tmp_path, values):
    np.save(tmp_path / "labels.npy", values)
    with pytest.raises(DataError, match=r"an array of shape \(.*give one label per sample, shape \(N,\)"):
        read_labels(tmp_path / "labels.npy", 3, NAMES)


def test_override_forgets_the_given_labels(tmp_path):
    data = Dataset(torch.zeros(3, 2), torch.tensor([0, 1, 2]), NAMES)
    np.save(tmp_path / "labels.npy", np.array([2, 0, 1]))
    found = override(data, tmp_path / "labels.npy")
    assert found.labels.tolist() == [2, 0, 1]
    assert found.true_labels is None
    assert data.labels.tolist() == [0, 1, 2]


def test_labels_of_files_that_were_moved_since(tmp_path):
    data = Dataset(torch.zeros(3, 1), torch.tensor([0, 1, 0]), ("a", "b"), reading=Reading(names=("x", "y", "z")))
    (tmp_path / "labels.csv").write_text("index,name,label\n1,y,a\n0,x,b\n2,z,b\n")
    assert override(data, tmp_path / "labels.csv").labels.tolist() == [1, 0, 1]
    moved = replace(data, reading=Reading(names=("x", "z", "zz")))
    with pytest.raises(DataError, match="no row for zz: files were moved"):
        override(moved, tmp_path / "labels.csv")


@pytest.mark.parametrize("before", ["", "photos/", "/home/me/photos/"])
def test_a_column_of_file_names_decides_whose_label_a_row_is(tmp_path, before, caplog):
    names = ("cat/1.png", "cat/2.png", "dog/1.png")
    data = Dataset(torch.zeros(3, 1), torch.tensor([0, 0, 1]), ("cat", "dog"), reading=Reading(names=names))
    rows = [f"{before}dog/1.png,cat", f"{before}cat/1.png,dog", f"{before}cat/2.png,cat"]
    (tmp_path / "labels.csv").write_text("\n".join(["file,label", *rows]))
    assert override(data, tmp_path / "labels.csv").labels.tolist() == [1, 0, 0]
    some = data.subset(torch.tensor([2, 0]))
    assert override(some, tmp_path / "labels.csv").labels.tolist() == [0, 1]
    assert "labels.csv: 1 label for what is not in the data: cat/2.png" in caplog.text
    (tmp_path / "labels.csv").write_text("\n".join(["file,label", f"{before}dog/7.png,cat", *rows[1:]]))
    with pytest.raises(DataError, match=r"no row for dog/1\.png: files were moved, .* the column 'file'"):
        override(data, tmp_path / "labels.csv")
