import gzip

import numpy as np
import pytest

from reweigh.data.readers.published import find_idx_pair, read_idx, read_idx_pair
from reweigh.data.readers.reader import Request
from reweigh.errors import DataError


@pytest.mark.parametrize("kind", ["uint8", "int8", "int16", "int32", "float32", "float64"])
@pytest.mark.parametrize("name", ["file", "file.gz"])
def test_all_types_plain_and_zipped(tmp_path, idx, kind, name):
    array = (np.arange(24).reshape(2, 3, 4) * 5).astype(kind)
    found = read_idx(idx(tmp_path / name, array)).numpy()
    assert found.dtype == array.dtype
    assert np.array_equal(found, array)


def test_zipped_without_the_ending(tmp_path, idx):
    zipped = idx(tmp_path / "file.gz", np.arange(4, dtype=np.uint8))
    zipped.rename(tmp_path / "file")
    assert read_idx(tmp_path / "file").tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(("cut", "message"), [
    (0, "not an IDX file \\(starts with nothing\\)"),
    (3, "not an IDX file"),
    (10, "truncated: 10 bytes"),
    (39, r"truncated: 39 bytes, its header \(2, 3, 4\) promises 40; delete it and download it again"),
])  # fmt: skip
def test_a_truncated_file(tmp_path, idx, cut, message):
    whole = idx(tmp_path / "whole", np.zeros((2, 3, 4), np.uint8)).read_bytes()
    (tmp_path / "half").write_bytes(whole[:cut])
    with pytest.raises(DataError, match=message):
        read_idx(tmp_path / "half")


def test_too_long_foreign_absent_and_cut_zip(tmp_path, idx):
    whole = idx(tmp_path / "whole", np.zeros((2, 3, 4), np.uint8)).read_bytes()
    (tmp_path / "long").write_bytes(whole + b"x")
    with pytest.raises(DataError, match="too long: 41 bytes"):
        read_idx(tmp_path / "long")
    (tmp_path / "text").write_text("hello there")
    with pytest.raises(DataError, match="not an IDX file \\(starts with 68 65 6c 6c\\)"):
        read_idx(tmp_path / "text")
    (tmp_path / "cut.gz").write_bytes(gzip.compress(bytes(10_000))[:-10])
    with pytest.raises(DataError, match=r"cut\.gz: cannot be unzipped"):
        read_idx(tmp_path / "cut.gz")
    with pytest.raises(DataError, match="there is no such file"):
        read_idx(tmp_path / "none")


def test_a_pair_in_a_folder(mnist_root):
    for split, size in (("train", 40), ("test", 20)):
        data = read_idx_pair(mnist_root / "mnist", Request(split=split))
        assert (len(data), data.shape, data.num_classes) == (size, (1, 28, 28), 10)
    assert find_idx_pair(mnist_root) is None


def test_a_pair_that_does_not_belong_together(mnist_root):
    _, labels = find_idx_pair(mnist_root / "mnist", "train")
    _, shorter = find_idx_pair(mnist_root / "mnist", "test")
    labels.write_bytes(shorter.read_bytes())
    with pytest.raises(DataError, match="inputs: 40 for 20 labels"):
        read_idx_pair(mnist_root / "mnist", Request())
