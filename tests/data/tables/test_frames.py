"""Files as people have them."""

import gzip
import logging

import pandas as pd
import pytest

from reweigh.data import read
from reweigh.data.tables.frames import dialect_of, read_frame
from reweigh.errors import DataError

ROWS = [["größe", "note", "label"], ["1,5", "a; b, c", "x"], ["2,5", 'say "hi"', "y"], ["3,5", "ü", "x"]]


def text(separator: str) -> str:
    quoted = [
        [f'"{cell.replace(chr(34), chr(34) * 2)}"' if set(cell) & set(',;"') else cell for cell in row] for row in ROWS
    ]
    return "\n".join(separator.join(row) for row in quoted) + "\n"


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "utf-16", "utf-32"])
def test_separator_and_encoding_are_found(tmp_path, separator, encoding):
    path = tmp_path / "t.csv"
    path.write_bytes(text(separator).encode(encoding))
    frame = read_frame(path)
    assert [list(frame.columns), *frame.to_numpy().tolist()] == ROWS


def test_they_can_be_given(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes("a:b\n1:é\n".encode("cp850"))
    assert read_frame(path, sep=":", encoding="cp850").to_numpy().tolist() == [["1", "é"]]
    with pytest.raises(DataError, match=r"encoding: no encoding 'klingon'; try utf-8"):
        read_frame(path, encoding="klingon")
    with pytest.raises(DataError, match=r"sep: '::'; give one character, or comma, semicolon, tab"):
        read_frame(path, sep="::")
    with pytest.raises(DataError, match=r"cannot be read as a table, not in utf-8; try another encoding"):
        read_frame(path, encoding="utf-8")


def test_without_a_mark_the_encoding_of_two_bytes_is_asked_for(tmp_path):
    (tmp_path / "t.csv").write_bytes("a,b\n1,2\n".encode("utf-16-le"))
    with pytest.raises(DataError, match="cannot be read as a table, not in utf-8; give its encoding"):
        read_frame(tmp_path / "t.csv")
    assert read_frame(tmp_path / "t.csv", encoding="utf-16-le").to_numpy().tolist() == [["1", "2"]]


def test_excel_writes_its_separator_above_the_header(tmp_path):
    (tmp_path / "t.csv").write_text("sep=|\n\na|b,c\n1|2,3\n")
    frame = read_frame(tmp_path / "t.csv")
    assert list(frame) == ["a", "b,c"]
    assert frame.to_numpy().tolist() == [["1", "2,3"]]


def test_single_quotes_quote(tmp_path):
    (tmp_path / "q.csv").write_text("'a','b'\n'1,5','2'\n")
    assert read_frame(tmp_path / "q.csv").to_numpy().tolist() == [["1,5", "2"]]
    assert dialect_of(tmp_path / "q.csv").quote == "'"


def test_other_formats_and_compressed_ones(tmp_path):
    pytest.importorskip("pyarrow")
    pytest.importorskip("openpyxl")
    rows = {"x": [1.5, 2.5, 3.5], "city": ["Ulm", "Bonn", "Ulm"], "label": ["a", "b", "a"]}
    frame = pd.DataFrame(rows)
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_csv(tmp_path / "t.csv.gz", index=False)
    frame.to_csv(tmp_path / "t.csv.bz2", index=False)
    frame.to_csv(tmp_path / "t.csv.xz", index=False)
    frame.to_csv(tmp_path / "t.csv.zip", index=False)
    frame.to_excel(tmp_path / "t.xlsx", index=False)
    frame.to_feather(tmp_path / "t.feather")
    frame.to_json(tmp_path / "t.jsonl", orient="records", lines=True)
    frame.to_json(tmp_path / "t.json", orient="records")
    wanted = read(tmp_path / "t.csv")
    for path in sorted(tmp_path.iterdir()):
        found = read(path)
        assert found.inputs.equal(wanted.inputs), path
        assert found.labels.tolist() == [0, 1, 0], path


def test_several_files_are_one_table(tmp_path):
    (tmp_path / "a1.csv").write_text("x,label\n1,a\n2,b\n")
    (tmp_path / "a2.csv").write_text("label;x\na;3\n")
    assert read_frame(tmp_path / "a*.csv")["x"].tolist() == ["1", "2", "3"]
    assert len(read(tmp_path / "a*.csv")) == 3
    (tmp_path / "a3.csv").write_text("y,label\n1,a\n")
    with pytest.raises(DataError, match=r"a3\.csv: other columns than .*a1\.csv, such as 'x', 'y'"):
        read_frame(tmp_path / "a*.csv")
    with pytest.raises(DataError, match="there is nothing at this path"):
        read(tmp_path / "none*.csv")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.json", b'{"a": ', "cannot be read as a table"),
        ("t.json", b"[1, 2]", "cannot be read as a table|which column is the label"),
        ("t.jsonl", b'{"x": [1, 2], "label": "a"}\n{"x": [3], "label": "b"}\n', "column 'x': cells hold lists"),
        ("t.xlsx", b"PK nonsense", "cannot be read as a table"),
        ("t.feather", b"nonsense", "cannot be read as a table"),
        ("t.csv.gz", gzip.compress(b"x,label\n1,a\n", mtime=0)[:-9], "cannot be read as a table"),
        ("t.csv.zip", b"nonsense", "cannot be read as a table"),
        ("t.csv", b"\x00\x01\x02\xff\xfe" * 50, "cannot be read as a table"),
    ],
)
def test_broken_files(tmp_path, name, content, message):
    pytest.importorskip("pyarrow")
    pytest.importorskip("openpyxl")
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=message):
        read(tmp_path / name)


def test_parquet_lists_are_refused_by_name(tmp_path):
    pytest.importorskip("pyarrow")
    pd.DataFrame({"v": [[1, 2], [3, 4]], "x": [1.5, 2.5], "label": ["a", "b"]}).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(DataError, match="column 'v': cells hold ndarrays"):
        read(tmp_path / "t.parquet")
    assert read(tmp_path / "t.parquet", columns={"v": "drop"}).shape == (1,)


def test_a_header_of_numbers_is_reported(tmp_path, caplog):
    (tmp_path / "t.csv").write_text("1,2\n3,4\n")
    with caplog.at_level(logging.WARNING):
        read_frame(tmp_path / "t.csv")
    assert "the first row holds only numbers, but is taken as the header" in caplog.text


def test_wide_tables_and_long_cells_are_bounded(tmp_path):
    lines = [",".join([*(f"c{number}" for number in range(1200)), "label"])]
    for row in range(1, 9):
        lines.append(",".join([*(f"{(number * row) % 7}.5" for number in range(1200)), "ab"[row % 2]]))
    (tmp_path / "wide.csv").write_text("\n".join(lines))
    assert read(tmp_path / "wide.csv").shape[0] > 1000
    (tmp_path / "long.csv").write_text("x,label\n" + "y" * 10_000_000 + ",a\n1,b\n")
    with pytest.raises(DataError, match=r"a line with a cell of 8,000,001 bytes; the limit is 8,000,000"):
        read(tmp_path / "long.csv")


def test_names_that_differ_in_outer_spaces_are_one_name(tmp_path):
    (tmp_path / "t.csv").write_text("a,a ,a.1,kind\n1,2,3,x\n")
    with pytest.raises(DataError, match="several columns are called 'a'; rename all but one"):
        read_frame(tmp_path / "t.csv")


def test_json_that_is_not_a_table(tmp_path):
    for text in ("3", "[1, 2]", '"a"'):
        (tmp_path / "t.json").write_text(text)
        with pytest.raises(DataError, match="neither a list of objects nor an object of columns"):
            read_frame(tmp_path / "t.json")


def test_feather_whose_buffers_contradict_each_other(tmp_path):
    pytest.importorskip("pyarrow")
    pd.DataFrame({"town": ["Ulm", "Bonn"] * 20, "kind": ["x", "y"] * 20}).to_feather(
        tmp_path / "t.feather", compression="uncompressed"
    )
    good = (tmp_path / "t.feather").read_bytes()
    assert len(read_frame(tmp_path / "t.feather")) == 40
    (tmp_path / "t.feather").write_bytes(good.replace(b"Bonn", b"B\xff\xffn"))
    with pytest.raises(DataError, match=r"cannot be read as a table \(In column 0: .*UTF8.*\); write the file again"):
        read_frame(tmp_path / "t.feather")


def test_a_blank_line_is_a_row_if_there_is_one_column(tmp_path):
    path = tmp_path / "texts.csv"
    path.write_text("\ntext\nfirst\n\n   \nlast one\n\n\n")
    assert read_frame(path)["text"].tolist() == ["first", "", "", "last one"]
    path.write_text("\na,b\n1,2\n\n3,4\n\n")
    assert read_frame(path)["a"].tolist() == ["1", "3"]
    path.write_text("text\n")
    assert len(read_frame(path)) == 0


def test_one_text_per_line_may_hold_commas(tmp_path):
    path = tmp_path / "texts.csv"
    texts = ["rain, wind, and more rain", "sun", "snow, at last"]
    path.write_text("\n".join(["text", *texts]))
    assert read_frame(path)["text"].tolist() == texts
    path.write_text("".join(f'"{number}",{number * 2}\n' if number else '"x"\n' for number in range(9)))  # row names
    with pytest.raises(DataError, match="the header has 1 cell, but rows have 2; name all columns in the header"):
        read_frame(path)


@pytest.mark.parametrize("title", ["Sales in 2024\n\n", "# exported\n# by hand\n", "a,label\n"])
def test_rows_longer_than_the_header_are_not_cut(tmp_path, title):
    path = tmp_path / "table.csv"
    path.write_text(title + "1,2,x,5\n" * 30)
    with pytest.raises(DataError, match=r"header.*title"):
        read_frame(path)


def test_a_header_without_names(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(",,\na,b,label\n1,2,x\n")
    with pytest.raises(DataError, match="no column has a name; the first row should be the header"):
        read_frame(path)
