"""What would exhaust memory is refused by its size, with the limit and how to raise it."""

import gzip
import io
import os
import zipfile

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from reweigh.data import read
from reweigh.data.arrays import load
from reweigh.data.tables.frames import read_frame
from reweigh.errors import DataError, RecipeError, ReweighError
from reweigh.files import limits
from reweigh.files.limits import LIMITS, check_amount, limit, variable


def test_the_environment_raises_a_limit(monkeypatch):
    with pytest.raises(DataError, match=r"x: a file of 2,000,000 bytes; the limit is 1,000,000. .* REWEIGH_MAX_RECIPE"):
        check_amount("recipe", 2_000_000, "x", "a file")
    monkeypatch.setenv("REWEIGH_MAX_RECIPE", "3e6")
    check_amount("recipe", 2_000_000, "x", "a file")
    monkeypatch.setenv("REWEIGH_MAX_RECIPE", "many")
    with pytest.raises(DataError, match=r"REWEIGH_MAX_RECIPE=many: give a number of bytes"):
        limit("recipe")


def bomb(path, size):
    """A small archive of one large array of zeros."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("X.npy", "w") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": "|u1", "fortran_order": False, "shape": (size,)})
        for _ in range(size // 2**20):
            file.write(bytes(2**20))


def test_a_zip_bomb(tmp_path, monkeypatch):
    monkeypatch.setenv(variable("expanded"), "1e7")
    bomb(tmp_path / "small.npz", 2**20)
    assert load(tmp_path / "small.npz")["X"].shape == (2**20,)
    bomb(tmp_path / "bomb.npz", 2**25)
    with pytest.raises(DataError, match=r"compressed file with contents of 33,554,.* bytes; the limit is 10,000,000"):
        load(tmp_path / "bomb.npz")


def test_an_honest_compressed_file_may_be_as_large_as_it_is(tmp_path, monkeypatch):
    monkeypatch.setenv(variable("expanded"), "1000")
    np.savez_compressed(tmp_path / "a.npz", X=np.random.default_rng(0).normal(size=1000))
    assert load(tmp_path / "a.npz")["X"].shape == (1000,)


def test_an_array_that_promises_more_than_there_is(tmp_path):
    with open(tmp_path / "a.npy", "wb") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": "<f8", "fortran_order": False, "shape": (2**50, 2)})
    with pytest.raises(DataError, match=r"cannot be read as a NumPy file"):
        load(tmp_path / "a.npy")


@pytest.mark.parametrize("name", ["t10k-images-idx3-ubyte.gz", "table.csv.gz"])
def test_a_gzip_bomb(tmp_path, monkeypatch, name):
    monkeypatch.setenv(variable("expanded"), "1e6")
    content = b"\0\0\x08\x03" + bytes(10**7) if "idx" in name else b"a,b\n" + b"1,2\n" * 10**6
    (tmp_path / name).write_bytes(gzip.compress(content))
    (tmp_path / "t10k-labels-idx1-ubyte").touch()
    with pytest.raises(DataError, match=r"a compressed file with contents of .* the limit is 1,000,000"):
        read(tmp_path / name, label="b")


def test_a_million_columns(tmp_path):
    (tmp_path / "a.csv").write_text(",".join(f"c{i}" for i in range(10**6)) + "\n" + "1," * (10**6 - 1) + "1\n")
    with pytest.raises(DataError, match=r"a table of 1,000,000 columns; the limit is 100,000. .*REWEIGH_MAX_COLUMNS"):
        read(tmp_path / "a.csv", label="c0")


def test_a_cell_of_megabytes(tmp_path):
    (tmp_path / "a.csv").write_text("a,b\n1," + "x" * 10**7 + "\n")
    with pytest.raises(DataError, match=r"a line with a cell of .* the limit is 8,000,000"):
        read(tmp_path / "a.csv", label="b")


def test_a_label_that_is_a_book(tmp_path):
    (tmp_path / "a.csv").write_text("a,b\n" + "1,x\n" * 99 + "2," + "x" * 10**5 + "\n")
    with pytest.raises(DataError, match=r"a label of 100,000 characters; the limit is 10,000"):
        read(tmp_path / "a.csv", label="b")


def test_a_parquet_file_of_few_bytes_and_many_cells(tmp_path, monkeypatch):
    monkeypatch.setenv(variable("cells"), "1e6")
    pd.DataFrame({"a": np.zeros(10**6, np.int8), "b": np.zeros(10**6, np.int8)}).to_parquet(tmp_path / "a.parquet")
    with pytest.raises(DataError, match=r"a table of 2,000,000 cells; the limit is 1,000,000"):
        read(tmp_path / "a.parquet", label="b")


def test_an_image_of_too_many_pixels_is_skipped(tmp_path, monkeypatch):
    for kind in "ab":
        (tmp_path / kind).mkdir()
        for number in range(2):
            Image.new("L", (4, 4), number).save(tmp_path / kind / f"{number}.png")
    Image.new("1", (20000, 20000)).save(tmp_path / "a" / "bomb.png")
    dataset = read(tmp_path)
    assert len(dataset) == 4
    assert "a/bomb.png: too large: an image of 400,000,000 pixels" in dataset.reading.skipped[0]
    assert "REWEIGH_MAX_PIXELS" in dataset.reading.skipped[0]
    monkeypatch.setenv(variable("pixels"), "10")
    with pytest.raises(DataError, match=r"an image of 16 pixels; the limit is 10"):
        read(tmp_path)


def test_pipes_and_devices_are_never_opened(tmp_path):
    for kind in "ab":
        (tmp_path / "images" / kind).mkdir(parents=True)
        Image.new("L", (4, 4), ord(kind)).save(tmp_path / "images" / kind / "1.png")
    os.mkfifo(tmp_path / "images" / "a" / "pipe.png")
    os.symlink("/dev/zero", tmp_path / "images" / "a" / "zero.png")
    dataset = read(tmp_path / "images")
    assert len(dataset) == 2
    assert len(dataset.reading.skipped) == 2
    assert all("a pipe or a device" in line for line in dataset.reading.skipped)
    for name in ("a.csv", "a.npz", "a.parquet", "train-images-idx3-ubyte"):
        os.mkfifo(tmp_path / name)
        with pytest.raises(DataError, match=r"a pipe or a device"):
            read(tmp_path / name)


def test_recipes(tmp_path):
    from reweigh.recipes.read import read as read_recipe

    os.mkfifo(tmp_path / "pipe.toml")
    with pytest.raises(RecipeError):
        read_recipe(tmp_path / "pipe.toml")
    (tmp_path / "deep.toml").write_text("a = " + "[" * 50000)
    with pytest.raises(RecipeError, match=r"not a TOML file"):
        read_recipe(tmp_path / "deep.toml")
    (tmp_path / "huge.toml").write_text("#" * (LIMITS["recipe"].most + 1))
    with pytest.raises(ReweighError, match=r"a file of 1,000,001 bytes; the limit is 1,000,000"):
        read_recipe(tmp_path / "huge.toml")
    read_recipe("demo", ["data.x=" + "[" * 50000])


def test_a_workbook_with_one_cell_far_away(tmp_path):
    pd.DataFrame({"a": [1.5], "kind": ["x"]}).to_excel(tmp_path / "near.xlsx", index=False)
    with zipfile.ZipFile(tmp_path / "near.xlsx") as near, zipfile.ZipFile(tmp_path / "far.xlsx", "w") as far:
        for name in near.namelist():
            cell = b'<row r="1048576"><c s="1" r="XFD1048576"><v>1</v></c></row></sheetData>'
            content = near.read(name)
            far.writestr(name, content.replace(b"</sheetData>", cell) if "sheet1" in name else content)
    message = r"5 filled cells in a grid of 17,179,869,184 cells; the limit is 50,000,000. .*REWEIGH_MAX_GRID"
    with pytest.raises(DataError, match=message):
        read(tmp_path / "far.xlsx", label="kind")


def test_the_extent_of_a_worksheet_over_chunks(monkeypatch):
    cells = [("A", 1), ("Z", 2), ("AA", 3), ("AZ", 700), ("XFD", 12)]
    text = b"".join(b'<row><c r="%s%d" t="n"><v>1</v></c></row>' % (name.encode(), row) for name, row in cells)
    assert limits._extent(io.BytesIO(text)) == (5, 700, 16384)
    for size in range(30, 90):
        monkeypatch.setattr(limits, "CHUNK_BYTES", size)
        assert limits._extent(io.BytesIO(text)) == (5, 700, 16384)
    assert limits._extent(io.BytesIO(b"<row/>")) == (0, 0, 0)


def test_a_workbook_of_the_same_row_again_and_again(tmp_path, monkeypatch):
    monkeypatch.setenv(variable("workbook"), "1e5")
    honest = pd.DataFrame({"a": np.random.default_rng(0).normal(size=2000), "kind": ["x", "y"] * 1000})
    honest.to_excel(tmp_path / "honest.xlsx", index=False)
    assert len(read(tmp_path / "honest.xlsx", label="kind")) == 2000
    with zipfile.ZipFile(tmp_path / "bomb.xlsx", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/worksheets/sheet1.xml", b"<row></row>" * 100_000)
    with pytest.raises(DataError, match=r"contents of 1,100,000 bytes; the limit is 100,000. .*REWEIGH_MAX_WORKBOOK"):
        read(tmp_path / "bomb.xlsx", label="kind")


@pytest.mark.parametrize("ending", ["feather", "parquet"])
def test_a_columnar_bomb(tmp_path, monkeypatch, ending):
    pytest.importorskip("pyarrow")
    monkeypatch.setenv(variable("expanded"), "1e6")
    frame = pd.DataFrame({"a": np.zeros(1_000_000), "kind": np.arange(1_000_000) % 2})
    path = tmp_path / f"bomb.{ending}"
    frame.to_parquet(path, compression="zstd") if ending == "parquet" else frame.to_feather(path, compression="zstd")
    frame[:1000].to_feather(tmp_path / "honest.feather")
    assert len(read_frame(tmp_path / "honest.feather")) == 1000
    with pytest.raises(DataError, match=r"a compressed file with contents of .* bytes; the limit is 1,000,000"):
        read_frame(path)


def test_a_long_string_in_many_rows(tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"s": pd.Categorical(["x" * 100_000, "y"] * 50), "n": pd.Categorical([1, None] * 50)})
    frame.to_parquet(tmp_path / "t.parquet")
    found = read_frame(tmp_path / "t.parquet")
    assert found["s"].tolist() == frame["s"].tolist()
    assert found["n"].fillna(0).tolist() == [1, 0] * 50
    assert found["s"].iloc[0] is found["s"].iloc[2]
    monkeypatch.setenv(variable("expanded"), "1e6")
    with pytest.raises(DataError, match=r"contents of 5,000,050 bytes; the limit is 1,000,000"):
        read_frame(tmp_path / "t.parquet")
