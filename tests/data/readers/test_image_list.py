"""Lists of lines ``path label``, as ImageNet-LT has them: read as folders are, and named where something is missing."""

import numpy as np
import pandas as pd
import pytest
import torch

from reweigh.data import read
from reweigh.data.readers import read_unlabeled
from reweigh.data.tables.encoding import fit_encoding
from reweigh.errors import DataError

Image = pytest.importorskip("PIL.Image")


@pytest.fixture
def images(tmp_path):
    """Images in two folders, and the lines of a list."""
    lines = []
    for number in range(12):
        file = tmp_path / "train" / f"n0{number % 2}" / f"{number}.png"
        file.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.full((8, 8, 3), 20 * number, np.uint8)).save(file)
        lines.append(f"train/n0{number % 2}/{number}.png {number % 2}")
    return tmp_path, lines


def listed(folder, lines):
    path = folder / "list.txt"
    path.write_text("\n".join(lines))
    return path


def test_a_list_is_read_in_its_order(images):
    found = read(listed(*images))
    assert found.labels.tolist() == [number % 2 for number in range(12)]
    assert found.inputs[:, 0, 0, 0].tolist() == [20 * number for number in range(12)]
    assert found.class_names == ("0", "1")


def test_missing_files_and_labels_are_left_out_and_named(images, caplog):
    folder, lines = images
    lines[3], lines[5] = "train/n01/gone.png 1", lines[5].split()[0]
    found = read(listed(folder, lines))
    assert found.source_rows.tolist() == [0, 1, 2, 4, 6, 7, 8, 9, 10, 11]
    said = " ".join(record.getMessage() for record in caplog.records)
    assert "1 image without a label left out" in said
    assert "gone.png: there is no such file" in said


def test_the_column_of_labels_and_the_list_are_those_that_the_user_names(images):
    """Neither has a usual name, so what the data are has to be found without them."""
    folder, lines = images
    rows = [f"{place},{line.split()[0]},{'ab'[place % 2]},{'xyz'[place % 3]}" for place, line in enumerate(lines)]
    for name in ("one.csv", "two.csv"):
        (folder / name).write_text("\n".join(["id,image_path,species,who", *rows]))
    assert read(folder / "one.csv", label="species").class_names == ("a", "b")
    assert read(folder / "one.csv", label="who").class_names == ("x", "y", "z")
    with pytest.raises(DataError, match="which column is the label"):
        read(folder / "one.csv")
    (folder / "cover.png").write_bytes((folder / "train" / "n00" / "0.png").read_bytes())
    assert read(folder, labels=folder / "two.csv", label="species").class_names == ("a", "b")
    with pytest.raises(DataError, match="several lists of its images"):
        read(folder, label="species")


def test_a_list_of_absent_images(images):
    folder, lines = images
    with pytest.raises(DataError, match=r"12 images, but none of the first 5 is there, such as other/train/n00/0\.png"):
        read(listed(folder, [f"other/{line}" for line in lines]))


def test_a_list_without_labels(images):
    folder, lines = images
    with pytest.raises(DataError, match="each line should be a path and a label"):
        read(listed(folder, [line.split()[0] for line in lines]))


@pytest.mark.parametrize("line", ["train/n00/4.png 1 2", "etc/passwd 1", "# comment"])
def test_a_line_that_is_something_else(images, line):
    folder, lines = images
    with pytest.raises(DataError, match=rf"line 9 is '{line}'; each line should be the path of an image and a label"):
        read(listed(folder, [*lines[:7], "", line, *lines[7:]]))


def test_images_elsewhere_are_named_by_their_whole_path(images, tmp_path):
    folder, lines = images
    (folder / "lists").mkdir()
    paths = [str(folder / line.split()[0]) for line in lines]
    rows = [f"{path},{place % 2}" for place, path in enumerate([*paths, str(folder / "gone.png")])]
    (folder / "lists" / "list.csv").write_text("\n".join(["file,label", *rows]))
    found = read(folder / "lists" / "list.csv")
    assert (len(found), found.reading.skipped) == (12, (f"{folder / 'gone.png'}: there is no such file",))


@pytest.mark.parametrize("kind", ["table", "names alone", "lines", "whole paths"])
def test_the_images_of_a_list_are_predicted(images, kind):
    folder, lines = images
    names = [line.split()[0] for line in lines]
    written = [str(folder / name) for name in names] if kind == "whole paths" else names
    rows = [f"{name},{place},{place % 5}" for place, name in enumerate(written)]
    if kind == "names alone":
        rows = written
    file = folder / ("new.txt" if kind == "lines" else "new.csv")
    file.write_text(
        "\n".join(lines if kind == "lines" else [",".join(["file", "a", "b"][: rows[0].count(",") + 1]), *rows])
    )
    found = read_unlabeled(file, (3, 8, 8), encoding=None, raw_bytes=True)
    assert found.names == tuple(names)
    assert found.inputs[torch.arange(12)][:, 0, 0, 0].tolist() == [20 * number for number in range(12)]


def test_the_rows_of_a_table_are_predicted_even_if_a_column_names_images(images):
    folder, lines = images
    (folder / "new.csv").write_text("\n".join(["file,a", *(f"{line.split()[0]},{line[-1]}" for line in lines)]))
    encoding = fit_encoding(pd.DataFrame({"a": ["0.5", "2.25", "3.5", "1.5"]}))
    found = read_unlabeled(folder / "new.csv", (1,), encoding=encoding, raw_bytes=False)
    assert found.inputs.shape == (12, 1)
