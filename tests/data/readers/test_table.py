import logging

import numpy as np
import pandas as pd
import pytest

from reweigh.data import read
from reweigh.data.readers import read_unlabeled
from reweigh.data.readers.reader import Request
from reweigh.data.readers.table import from_frame
from reweigh.data.tables.encoding import Encoding
from reweigh.data.tables.frames import read_frame
from reweigh.errors import DataError

TABLE = """age,city,species,truth
20,Rome,cat,cat
30,Oslo,dog,cat
,Rome,cat,dog
50,,dog,dog
"""


def write(path, text: str = TABLE):
    path.write_text(text)
    return path


def test_csv(tmp_path, caplog):
    path = write(tmp_path / "pets.csv")
    with caplog.at_level(logging.WARNING):
        data = read(path, label="species", true_label="truth")
    assert data.class_names == ("cat", "dog")
    assert data.labels.tolist() == [0, 1, 0, 1]
    assert data.true_labels.tolist() == [0, 0, 1, 1]
    assert data.reading.encoding.feature_names == ("age", "age (missing)", "city=(missing)", "city=Oslo", "city=Rome")
    assert data.reading.missing == {"age": 1, "city": 1}
    assert "missing values filled: 1 in 'age', 1 in 'city'" in caplog.text
    assert path.read_text() == TABLE


def test_a_later_table_is_encoded_alike(tmp_path):
    first = read(write(tmp_path / "pets.csv"), label="species", true_label="truth")
    later = write(tmp_path / "later.csv", "city,age,species\nOslo,50,dog\nRome,20,cat\n")
    stored = Encoding.from_json(first.reading.encoding.to_json())
    found = read(later, label="species", encoding=stored, class_names=first.class_names)
    assert found.inputs[1].tolist() == first.inputs[0].tolist()
    assert found.labels.tolist() == [1, 0]


def test_tsv_and_zipped(tmp_path):
    write(tmp_path / "pets.tsv", TABLE.replace(",", "\t"))
    pd.read_csv(write(tmp_path / "pets.csv")).to_csv(tmp_path / "pets.csv.gz", index=False)
    for name in ("pets.tsv", "pets.csv.gz"):
        assert read(tmp_path / name, label="species").labels.tolist() == [0, 1, 0, 1]


def test_parquet(tmp_path):
    pytest.importorskip("pyarrow")
    frame = pd.read_csv(write(tmp_path / "pets.csv"))
    frame.to_parquet(tmp_path / "pets.parquet")
    found = read(tmp_path / "pets.parquet", label="species")
    assert found.inputs.equal(read(tmp_path / "pets.csv", label="species").inputs)
    assert found.labels.tolist() == [0, 1, 0, 1]
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 nonsense")
    with pytest.raises(DataError, match=r"broken\.parquet: cannot be read as a table"):
        read(tmp_path / "broken.parquet", label="species")


def test_parquet_without_pyarrow(tmp_path, monkeypatch):
    def absent(*args, **kwargs):
        raise ImportError("no pyarrow")

    monkeypatch.setattr(pd, "read_parquet", absent)
    with pytest.raises(DataError, match=r"pip install 'reweigh\[parquet\]'"):
        read(write(tmp_path / "pets.parquet"), label="species")


def test_the_usual_label_column_is_found(tmp_path):
    data = read(write(tmp_path / "t.csv", "x,y,target\n1,2,0\n3,4,1\n"))
    assert data.labels.tolist() == [0, 1]
    assert data.reading.encoding.feature_names == ("x", "y")


@pytest.mark.parametrize(("text", "label", "message"), [
    (TABLE, "Species", r"no column 'Species' for the label; there are: age, city, .*\. Did you mean 'species'\?"),
    (TABLE, None, r"which column is the label\? There are: age, city, species, truth\. Name one \(label=\.\.\.\)"),
    ("x,label\n1,a\n2,\n3,b\n", "label", r"labels: 1 of 3 is missing: row 1;"),
    ("x,label\n1,a\n2,a\n", "label", r"only one class, 'a', in 2 samples"),
    ("label\na\nb\n", "label", r"no column to learn from"),
    ("x,label\n", "label", r"a header without rows"),
    ("", "label", "the file is empty; a table needs a header and rows"),
    ('x,label\n"1,a\n', "label", r"cannot be read as a table"),
    ("x,label\n1,a\n2,b,c,d\n3,a\n", "label", r"cannot be read as a table \(Error tokenizing data"),
])  # fmt: skip
def test_bad_tables(tmp_path, text, label, message):
    path = write(tmp_path / "bad.csv", text)
    with pytest.raises(DataError, match=message) as error:
        read(path, label=label)
    assert str(error.value).startswith(str(path))


def test_an_absent_file_and_one_that_is_no_text(tmp_path):
    with pytest.raises(DataError, match="there is nothing at this path"):
        read(tmp_path / "none.csv", label="y")
    (tmp_path / "bytes.csv").write_bytes(bytes(range(128, 256)) * 20)
    with pytest.raises(DataError, match=r"cannot be read as a table, not in utf-8; give its encoding, such as latin-1"):
        read(tmp_path / "bytes.csv", label="y")


def test_a_class_may_be_called_na_or_none(tmp_path):
    data = read(write(tmp_path / "t.csv", "x,label\n1,NA\n2,None\n3,NA\n"))
    assert data.class_names == ("NA", "None")


def test_row_numbers_without_a_name_are_left_out(tmp_path, caplog):
    pd.DataFrame({"x": [1, 2], "label": ["a", "b"]}).to_csv(tmp_path / "t.csv")
    with caplog.at_level(logging.INFO):
        assert list(read_frame(tmp_path / "t.csv").columns) == ["x", "label"]
    assert "columns without a name are left out: Unnamed: 0" in caplog.text


@pytest.mark.parametrize("kind", ["Int64", "string", "category", object])
def test_labels_missing_in_the_sense_of_pandas(kind):
    frame = pd.DataFrame({"x": [1, 2, 3], "label": pd.Series(["1", None, "2"]).astype(kind)})
    with pytest.raises(DataError, match="1 of 3 is missing: row 1"):
        from_frame(frame, Request())
    assert from_frame(frame.dropna(), Request()).class_names == ("1", "2")


def test_a_frame_in_memory_is_not_changed():
    frame = pd.DataFrame({"x": [1.0, np.nan, 3.0], "label": [4, 9, 4]})
    before = frame.copy()
    data = from_frame(frame, Request())
    assert data.class_names == ("4", "9")
    assert from_frame(frame[["x"]], Request(labels=["u", "v", "u"])).class_names == ("u", "v")
    pd.testing.assert_frame_equal(frame, before)


def test_texts_that_look_like_numbers_in_another_file(tmp_path):
    first = write(tmp_path / "first.csv", "floor,label\n" + "1,a\n2,b\nB,a\n" * 4)
    encoding = read(first).reading.encoding
    other = write(tmp_path / "other.csv", "floor,label\n1,a\n2,b\n,a\n")
    again = read(other, encoding=encoding, class_names=("a", "b"))
    assert again.inputs[:2].tolist() == [[1, 0, 0], [0, 1, 0]]
    assert read_unlabeled(other, (3,), encoding=encoding, raw_bytes=False).inputs[:2].tolist() == [[1, 0, 0], [0, 1, 0]]


def test_rows_longer_than_the_header(tmp_path):
    data = read(write(tmp_path / "t.csv", "label,x,y\na,1,2,\nb,3,4,\n"))  # rows end in a comma
    assert data.class_names == ("a", "b")
    assert data.reading.encoding.feature_names == ("x", "y")
    assert data.inputs.sign().tolist() == [[-1, -1], [1, 1]]


def test_a_second_label_column_is_no_feature(tmp_path):
    text = "x,target,class\n" + "1,0,ben\n2,1,mal\n" * 3
    with pytest.raises(DataError, match="columns 'target' and 'class' hold the same labels; drop one"):
        read(write(tmp_path / "t.csv", text))


def test_numbers_with_a_point_are_the_same_classes(tmp_path):
    train = read(write(tmp_path / "t.csv", "x,label\n1,1.0\n2,2.0\n3,3.0\n"))
    assert train.class_names == ("1", "2", "3")
    encoding = train.reading.encoding
    test = write(tmp_path / "test.csv", "x,label\n1,1\n2,2\n")
    assert read(test, class_names=train.class_names, encoding=encoding).labels.tolist() == [0, 1]
    strange = write(tmp_path / "strange.csv", "x,label\n1,0\n2,1\n")
    with pytest.raises(DataError, match="no class named '0'"):
        read(strange, class_names=train.class_names, encoding=encoding)
