import json
import logging

import numpy as np
import pandas as pd
import pytest
import torch

from reweigh.data.inputs import SparseRows
from reweigh.data.tables.encoding import Encoding, fit_encoding
from reweigh.errors import DataError


def frame() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "age": [20, 30, None, 50, 60, 70],
            "city": ["Rome", "Oslo", "Rome", None, "Oslo", "Rome"],
            "note": ["a red bird", "the blue bird", "red and blue", None, "no bird at all", "a stone lay there"],
            "member": [True, False, True, True, False, True],
            "since": pd.to_datetime(["2020-01-01", "2020-01-02", "2020-01-03", None, "2020-01-05", "2020-01-06"]),
        }
    )


def test_each_kind_of_column():
    encoding = fit_encoding(frame())
    assert [column.kind for column in encoding.columns] == ["number", "category", "tf-idf", "category", "date"]
    features = encoding.apply(frame())
    assert features.shape == (6, len(encoding.feature_names))
    assert features.isfinite().all()


def test_numbers_are_standardized_and_missing_ones_flagged():
    encoding = fit_encoding(frame()[["age"]])
    values = np.array([20, 30, 50, 60, 70.0])
    age = encoding.apply(frame()).numpy()
    np.testing.assert_allclose(age[[0, 1, 3, 4, 5], 0], (values - values.mean()) / values.std(), rtol=1e-6)
    assert age[2].tolist() == [0, 1]
    assert age[:, 1].sum() == 1
    assert encoding.feature_names == ("age", "age (missing)")


def test_categories_are_one_hot_with_one_for_missing_and_none_for_new():
    encoding = fit_encoding(frame()[["city"]])
    assert encoding.feature_names == ("city=(missing)", "city=Oslo", "city=Rome")
    assert encoding.apply(frame()).tolist() == [[0, 0, 1], [0, 1, 0], [0, 0, 1], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
    assert encoding.apply(pd.DataFrame({"city": ["Bonn", "Oslo"]})).tolist() == [[0, 0, 0], [0, 1, 0]]


def test_words_by_tf_idf_against_the_formula():
    texts = ["red red bird", "blue bird", "blue stone bird"]
    encoding = fit_encoding(pd.DataFrame({"note": texts}))
    words = sorted({word for text in texts for word in text.split()})
    counts = np.array([[text.split().count(word) for word in words] for text in texts], dtype=float)
    idf = np.log((1 + 3) / (1 + (counts > 0).sum(0))) + 1
    expected = 16 * counts * idf / np.linalg.norm(counts * idf, axis=1, keepdims=True)
    np.testing.assert_allclose(encoding.apply(pd.DataFrame({"note": texts})).numpy(), expected, rtol=1e-6)


def test_the_same_features_after_json():
    encoding = fit_encoding(frame())
    stored = encoding.to_json()
    json.loads(stored)
    again = Encoding.from_json(stored)
    assert again == encoding
    assert again.apply(frame().iloc[::-1]).equal(encoding.apply(frame().iloc[::-1]))


@pytest.mark.parametrize(
    "text", ["", "{}", "[1]", '{"columns": [{"kind": "number"}], "version": 2}', '{"columns": [], "version": 1}']
)
def test_json_that_is_something_else(text):
    with pytest.raises(DataError, match="encoding: not one that reweigh wrote"):
        Encoding.from_json(text)


def test_a_later_table_with_other_columns():
    table = frame().assign(visits=[3, 8, 1, 9, 3, 2])
    encoding = fit_encoding(table)
    later = table.rename(columns={"age": "Age", "city": "town"}).assign(visits="maybe")
    with pytest.raises(DataError) as error:
        encoding.apply(later)
    text = str(error.value)
    assert "3 mistakes" in text
    assert "no column 'age'. Did you mean 'Age'?" in text
    assert "no column 'city'." in text
    assert "column 'visits': none of its 6 values is a number, such as 'maybe'; fix these cells" in text
    assert encoding.apply(table.assign(more=1)).equal(encoding.apply(table))


def test_missing_values_are_counted():
    assert fit_encoding(frame()).missing(frame()) == {"age": 1, "city": 1, "note": 1, "since": 1}


def test_kinds_against_the_rule():
    encoding = fit_encoding(frame(), kinds={"age": "category", "note": "drop", "city": "text"})
    assert [(column.name, column.kind) for column in encoding.columns][:2] == [("age", "category"), ("city", "tf-idf")]
    assert "note" not in [column.name for column in encoding.columns]
    with pytest.raises(DataError, match=r"table: no column 'agee'; the table has: age, city, .*Did you mean 'age'\?"):
        fit_encoding(frame(), kinds={"agee": "number"})
    with pytest.raises(
        DataError, match="column 'age': no kind 'numeric'; there are: number, date, category, text, drop"
    ):
        fit_encoding(frame(), kinds={"age": "numeric"})
    with pytest.raises(DataError, match="column 'city': none of its 5 values is a date, such as 'Rome'"):
        fit_encoding(frame(), kinds={"city": "date"})


def test_infinite_numbers_and_texts_without_words():
    bad = pd.DataFrame({"x": [1.0, np.inf, 2.0], "t": ["? !", ". .", "..."]})
    with pytest.raises(DataError) as error:
        fit_encoding(bad)
    assert "column 'x': 1 value is infinite, such as 'inf': row 1; fix or clear these cells" in str(error.value)
    assert "column 't': text without words" in str(error.value)


def test_a_column_without_values_is_left_out_with_a_warning(caplog):
    with caplog.at_level(logging.WARNING):
        encoding = fit_encoding(frame().assign(empty=None))
    assert "empty" not in [column.name for column in encoding.columns]
    assert "columns left out: 'empty' (no value in any row)" in caplog.text
    with pytest.raises(DataError, match="no column to learn from"):
        fit_encoding(pd.DataFrame({"empty": [None, None]}))


def test_a_constant_column_and_nullable_types(caplog):
    nullable = pd.DataFrame(
        {
            "c": [5, 5, 5],
            "i": pd.array([1, None, 3], dtype="Int64"),
            "b": pd.array([True, None, False], dtype="boolean"),
        }
    )
    encoding = fit_encoding(nullable)
    assert encoding.apply(nullable).isfinite().all()
    assert [column.name for column in encoding.columns] == ["i", "b"]
    assert "columns left out: 'c' (always 5)" in caplog.text
    assert fit_encoding(nullable, kinds={"c": "number"}).apply(nullable)[:, 0].tolist() == [0, 0, 0]


def rows(number: int) -> pd.DataFrame:
    """A number, names of rows in several forms, and texts of several words, each of them another."""
    return pd.DataFrame(
        {
            "size": range(number),
            "id": [f"A-{row:04}" for row in range(number)],
            "file": [f"photos/IMG_{row}.jpg" if row else None for row in range(number)],
            "note": [f"the {row}th of many" for row in range(number)],
        }
    )


def test_names_of_rows_are_left_out_with_a_warning(caplog):
    assert [column.name for column in fit_encoding(rows(40)).columns] == ["note"]
    assert "'size' (counts the rows), 'id' (only names the rows: another word in each), 'file'" in caplog.text
    kept = fit_encoding(rows(40), kinds={"id": "text", "size": "number"})
    assert [column.name for column in kept.columns] == ["size", "id", "note"]
    with pytest.raises(DataError, match="no column to learn from"):
        fit_encoding(rows(40)[["id", "file"]])


def test_words_that_come_again_are_no_names(caplog):
    few = fit_encoding(rows(12))
    assert [column.kind for column in few.columns] == ["number", "tf-idf", "tf-idf", "tf-idf"]
    again = pd.DataFrame({"word": [f"w{row % 60}" for row in range(100)]})
    assert fit_encoding(again).columns[0].kind == "category"
    assert not caplog.records


def test_many_numbers_stay_dense_and_many_words_do_not():
    numbers = pd.DataFrame(np.random.default_rng(0).normal(size=(3, 1100))).add_prefix("c")
    assert isinstance(fit_encoding(numbers).apply(numbers), torch.Tensor)
    words = pd.DataFrame({"note": [" ".join(f"w{row}x{place}" for place in range(400)) for row in range(3)]})
    assert isinstance(fit_encoding(words, kinds={"note": "text"}).apply(words), SparseRows)
