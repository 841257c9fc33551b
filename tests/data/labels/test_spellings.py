import logging

import pandas as pd
import pytest

from reweigh.data import read
from reweigh.data.labels.class_numbers import one_letter_from
from reweigh.data.readers.reader import Request
from reweigh.data.readers.table import from_frame
from reweigh.errors import DataError

GOLD = ["gold", "Gold", "GOLD ", "gold.", "tin", "gold", "tin"]


def table(tmp_path, labels, name="t.csv"):
    pd.DataFrame({"x": [number + 0.5 for number in range(len(labels))], "label": labels}).to_csv(
        tmp_path / name, index=False
    )
    return tmp_path / name


def test_spellings_are_reported_and_joined_if_asked(tmp_path, caplog):
    with caplog.at_level(logging.WARNING):
        data = read(table(tmp_path, GOLD))
    assert data.num_classes == 5
    assert "probably spellings of one class: 'gold' = 'GOLD ' = 'Gold'; --join-labels" in caplog.text
    joined = read(table(tmp_path, GOLD), join_labels=True)
    assert joined.class_names == ("gold", "tin")
    assert joined.labels.tolist() == [0, 0, 0, 0, 1, 0, 1]
    test = read(table(tmp_path, ["TIN", "gold"], "test.csv"), join_labels=True, class_names=joined.class_names)
    assert test.labels.tolist() == [1, 0]
    with pytest.raises(DataError, match="no class named 'lead'; there are: gold, tin"):
        read(table(tmp_path, ["lead", "gold"], "test.csv"), join_labels=True, class_names=joined.class_names)
    with pytest.raises(DataError, match="only one class"):
        read(table(tmp_path, ["Tin", "tin"]), join_labels=True)


def test_a_typing_mistake_is_offered_as_a_spelling(tmp_path, caplog):
    labels = ["unacc"] * 90 + ["acc"] * 40 + ["unac"] * 4 + ["Unacc"] * 2 + ["good"] * 30 + ["vgood"] * 25
    with caplog.at_level(logging.WARNING):
        assert read(table(tmp_path, labels)).num_classes == 6
    assert "spellings of one class: 'unacc' = 'unac' = 'Unacc'; --join-labels" in caplog.text
    joined = read(table(tmp_path, labels), join_labels=True)
    assert dict(zip(joined.class_names, joined.class_sizes.tolist(), strict=True)) == {
        "acc": 40, "good": 30, "unacc": 96, "vgood": 25
    }  # fmt: skip
    test = read(table(tmp_path, ["uancc", "ACC"], "test.csv"), join_labels=True, class_names=joined.class_names)
    assert test.labels.tolist() == [2, 0]


@pytest.mark.parametrize(
    ("word", "words", "expected"),
    [
        ("unac", ["unacc", "acc", "unca", "unaccc", "unac"], ["unacc", "unca"]),
        ("class1", ["class2", "class11", "clas1"], ["clas1"]),
        ("cat", ["car", "cart", "at"], ["cart"]),
        ("", ["a", "abcd"], []),
    ],
)
def test_one_letter_apart(word, words, expected):
    assert one_letter_from(word, words) == expected


def test_rows_without_a_label_are_left_out_if_asked(tmp_path, caplog):
    path = table(tmp_path, ["a", "", "b", "?", "a", "N/A", "NA"])
    with pytest.raises(DataError, match="labels: 3 of 7 are missing: rows 1, 3, 5"):
        read(path)
    with caplog.at_level(logging.WARNING):
        data = read(path, drop_unlabeled=True)
    assert "3 rows without a label left out" in caplog.text
    assert data.class_names == ("NA", "a", "b")  # a class may be called NA
    assert data.origin.tolist() == [0, 2, 4, 6]


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([f"{row * 1.37:.2f}" for row in range(60)], "a quantity, not classes; divide its range"),
        ([f"{row % 40 / 3:.1f} %".replace(".", ",") for row in range(80)], "a quantity, not classes"),
        ([f"{row % 40 * 1.5:.1f}" for row in range(80)] + ["n/v"], "a quantity, not classes"),
        ([row * 37 for row in range(60)], "ids or a quantity, not classes"),
        ([f"{1 + row % 28:02}.0{1 + row // 28}.2024" for row in range(60)], "dates, not classes"),
        ([f"person {row}" for row in range(60)], "names or free text, not classes"),
        ([(row % 25) * 1000 for row in range(100)], "a quantity, not classes"),
    ],
)
def test_labels_that_are_no_classes(labels, message):
    frame = pd.DataFrame({"x": range(len(labels)), "z": 0.5, "label": labels})
    with pytest.raises(
        DataError, match=f"column 'label' has .* different values in {len(labels)} rows, such as .*{message}"
    ):
        from_frame(frame, Request())


@pytest.mark.parametrize(
    "labels", [[row % 30 for row in range(200)], [f"c{row % 40}" for row in range(90)], [1.5, 2.5] * 20]
)
def test_labels_that_are_classes(labels):
    frame = pd.DataFrame({"x": [row**1.5 for row in range(len(labels))], "label": [str(label) for label in labels]})
    assert from_frame(frame, Request()).num_classes == len(set(labels))
