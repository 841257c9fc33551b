import numpy as np
import pandas as pd
import pytest
from PIL import Image

from reweigh.data import from_arrays, read
from reweigh.data.readers import READERS, has_test_part, read_unlabeled
from reweigh.data.readers.reader import Reader, Unlabeled, UnlabeledReader
from reweigh.errors import DataError


def pictures(root):
    for place, name in enumerate(("cat/1.png", "dog/1.png", "dog/2.png")):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.full((4, 4, 3), 50 * place, np.uint8)).save(root / name)
    return root


def test_every_kind_of_path(tmp_path, mnist_root, cifar_root):
    pictures(tmp_path / "pets")
    (tmp_path / "t.csv").write_text("x,kind\n1,a\n2,b\n")
    np.savez(tmp_path / "a.npz", X=np.eye(3), y=[0, 1, 2])
    np.save(tmp_path / "x.npy", np.eye(3))
    np.save(tmp_path / "y.npy", [2, 0, 1])
    assert len(read(tmp_path / "pets")) == 3
    assert len(read(tmp_path / "t.csv", label="kind")) == 2
    assert len(read(tmp_path / "a.npz")) == 3
    assert read(tmp_path / "x.npy", labels=tmp_path / "y.npy").labels.tolist() == [2, 0, 1]
    assert [len(read(mnist_root / "mnist", split=split)) for split in ("train", "test")] == [40, 20]
    assert len(read(mnist_root / "mnist" / "train-images-idx3-ubyte.gz")) == 40
    assert [len(read(cifar_root / "cifar-100-binary", split=split)) for split in ("train", "test")] == [200, 200]


def test_a_label_file_overrides(tmp_path):
    np.savez(tmp_path / "a.npz", X=np.eye(3), y=["a", "b", "c"])
    (tmp_path / "labels.csv").write_text("label\nc\nc\na\n")
    assert read(tmp_path / "a.npz", labels=tmp_path / "labels.csv").labels.tolist() == [2, 2, 0]
    (tmp_path / "short.csv").write_text("label\nc\n")
    with pytest.raises(DataError, match="1 label for 3 samples"):
        read(tmp_path / "a.npz", labels=tmp_path / "short.csv")


def test_label_file_by_index_for_inputs_without_labels(tmp_path):
    np.save(tmp_path / "x.npy", np.eye(3))
    (tmp_path / "y.csv").write_text("index,label\n2,b\n0,a\n1,a\n")
    assert read(tmp_path / "x.npy", labels=tmp_path / "y.csv").labels.tolist() == [0, 0, 1]


def test_a_label_file_for_a_table_with_and_without_labels(tmp_path):
    (tmp_path / "y.csv").write_text("label\nb\na\n")
    for table in ("x\n1\n2\n", "x,label\n1,a\n2,b\n"):
        (tmp_path / "t.csv").write_text(table)
        data = read(tmp_path / "t.csv", labels=tmp_path / "y.csv")
        assert (data.labels.tolist(), data.shape) == ([1, 0], (1,))


def test_folders_of_images_in_a_training_and_a_test_part(tmp_path):
    pictures(tmp_path / "train")
    pictures(tmp_path / "val")
    assert read(tmp_path).class_names == ("cat", "dog")
    assert len(read(tmp_path, split="test")) == 3
    pictures(tmp_path / "only" / "train")
    with pytest.raises(DataError, match="no test part; there are: train"):
        read(tmp_path / "only", split="test")


def test_what_is_not_known(tmp_path):
    with pytest.raises(DataError, match="there is nothing at this path"):
        read(tmp_path / "none")
    with pytest.raises(DataError, match="the folder is empty; give images"):
        read(tmp_path)
    (tmp_path / "x.doc").touch()
    with pytest.raises(
        DataError, match=r"not a folder that reweigh can read; give images in one .* a table .* or a folder of images"
    ):
        read(tmp_path)
    with pytest.raises(DataError, match=r"x\.doc: not a file that reweigh can read; give .*\.csv"):
        read(tmp_path / "x.doc")
    np.save(tmp_path / "x.npy", np.eye(3))
    with pytest.raises(DataError, match=r"inputs without labels; store both in one \.npz, or give a label file"):
        read(tmp_path / "x.npy")
    with pytest.raises(DataError, match="split: 'tset'; there are: train, test"):
        read(tmp_path, split="tset")
    with pytest.raises(DataError, match="text: 'bert'; there are: tf-idf, wordllama, plain"):
        read(tmp_path, text="bert")
    with pytest.raises(DataError, match="resize: 'cut'; there are: crop, pad, stretch"):
        read(tmp_path, resize="cut")


def test_test_parts(tmp_path, mnist_root, cifar_root):
    pictures(tmp_path / "pets" / "train")
    assert not has_test_part(tmp_path / "pets")
    pictures(tmp_path / "pets" / "test")
    assert has_test_part(tmp_path / "pets")
    assert has_test_part(mnist_root / "mnist")
    assert has_test_part(cifar_root / "cifar-10-batches-bin")
    (mnist_root / "mnist" / "t10k-labels-idx1-ubyte").unlink()
    assert not has_test_part(mnist_root / "mnist")
    with pytest.raises(DataError, match="no test part; it needs t10k-images-idx3-ubyte and t10k-labels-idx1-ubyte"):
        read(mnist_root / "mnist", split="test")


def test_a_new_format_is_one_line_in_the_table(tmp_path, monkeypatch):
    """A format of one number per line: read, predicted on, and listed where nothing is recognized."""

    def values(path):
        return np.array([[float(line)] for line in path.read_text().split()])

    def recognizes(path):
        return path.suffix == ".lines"

    lines = Reader(
        about="numbers in lines (.lines)",
        recognizes=recognizes,
        read=lambda path, request: from_arrays(values(path), request.labels, class_names=request.class_names),
        has_labels=lambda source: False,
        unlabeled=UnlabeledReader("lines to predict", recognizes, lambda path, form: Unlabeled(values(path))),
    )
    monkeypatch.setitem(READERS, "lines", lines)
    (tmp_path / "x.lines").write_text("1\n2\n5\n")
    (tmp_path / "y.csv").write_text("label\nb\na\nb\n")
    data = read(tmp_path / "x.lines", labels=tmp_path / "y.csv")
    assert (data.inputs.tolist(), data.labels.tolist()) == ([[1], [2], [5]], [1, 0, 1])
    assert len(read_unlabeled(tmp_path / "x.lines", (1,), encoding=None, raw_bytes=False).inputs) == 3
    (tmp_path / "x.doc").touch()
    with pytest.raises(DataError, match=r"per class or numbers in lines \(\.lines\)$"):
        read(tmp_path / "x.doc")
    with pytest.raises(DataError, match=r"images or lines to predict$"):
        read_unlabeled(tmp_path / "x.doc", (1,), encoding=None, raw_bytes=False)


@pytest.mark.parametrize("name", ["t.xlsx", "t.jsonl", "t.csv"])
def test_a_table_with_gaps_in_every_column(tmp_path, name):
    """pandas reads an empty cell of a workbook as a float."""
    frame = pd.DataFrame(
        {"id": [None, *range(30)], "note": ["words", None, "and more"] * 10 + [None], "kind": ["a"] * 15 + ["b"] * 16}
    )
    {"xlsx": frame.to_excel, "csv": frame.to_csv, "jsonl": frame.to_json}[name.split(".")[1]](
        tmp_path / name, **({"orient": "records", "lines": True} if "json" in name else {"index": False})
    )
    assert len(read(tmp_path / name, label="kind")) == 31
