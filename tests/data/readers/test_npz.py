from pathlib import Path

import numpy as np
import pytest

from reweigh.data.readers.npz import read_arrays
from reweigh.data.readers.reader import Request
from reweigh.data.source import Source
from reweigh.errors import DataError

LABELS = np.array([0, 1, 2, 0, 1, 2])


def test_npz(tmp_path):
    np.savez(
        tmp_path / "data.npz", X=np.eye(6), y=["b", "a", "c"] * 2, true_labels=["a"] * 6, class_names=["c", "b", "a"]
    )
    data = read_arrays(tmp_path / "data.npz", Request())
    assert data.class_names == ("c", "b", "a")
    assert data.labels.tolist() == [1, 2, 0] * 2
    assert data.true_labels.tolist() == [2] * 6


def test_npz_with_other_names(tmp_path):
    np.savez(tmp_path / "data.npz", x=np.eye(6), y_train=LABELS)
    assert len(read_arrays(tmp_path / "data.npz", Request(Source(Path(), label="y_train")))) == 6
    with pytest.raises(DataError, match=r"no labels called one of labels, y, .*has: x, y_train. Give label="):
        read_arrays(tmp_path / "data.npz", Request())
    with pytest.raises(DataError, match="no labels called 'z'"):
        read_arrays(tmp_path / "data.npz", Request(Source(Path(), label="z")))
    np.savez(tmp_path / "data.npz", x_train=np.eye(6), y=LABELS)
    with pytest.raises(DataError, match=r"data\.npz: no inputs called one of inputs, X, .*has: x_train, y. Rename"):
        read_arrays(tmp_path / "data.npz", Request())


def test_npy(tmp_path):
    np.save(tmp_path / "x.npy", np.eye(6))
    assert read_arrays(tmp_path / "x.npy", Request(labels=LABELS)).labels.tolist() == LABELS.tolist()
    with pytest.raises(DataError, match=r"inputs without labels; store both in one \.npz, or give a label file"):
        read_arrays(tmp_path / "x.npy", Request())


def test_broken_files(tmp_path):
    np.save(tmp_path / "objects.npy", np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(DataError, match="store plain numbers or strings instead of objects"):
        read_arrays(tmp_path / "objects.npy", Request(labels=LABELS))
    np.savez(tmp_path / "whole.npz", X=np.eye(60))
    (tmp_path / "half.npz").write_bytes((tmp_path / "whole.npz").read_bytes()[:5000])
    with pytest.raises(DataError, match=r"half\.npz: cannot be read as a NumPy file"):
        read_arrays(tmp_path / "half.npz", Request())
    np.save(tmp_path / "whole.npy", np.eye(60))
    (tmp_path / "half.npy").write_bytes((tmp_path / "whole.npy").read_bytes()[:5000])
    with pytest.raises(DataError, match=r"half\.npy: cannot be read"):
        read_arrays(tmp_path / "half.npy", Request(labels=LABELS))
    with pytest.raises(DataError, match="there is no such file"):
        read_arrays(tmp_path / "none.npz", Request())
