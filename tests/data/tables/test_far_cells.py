"""Cells far from all others are named, and read as gaps where the user says so."""

import logging

import numpy as np
import pandas as pd
import pytest

from reweigh.data import read
from reweigh.data.inputs import robust_scale
from reweigh.data.readers import read_unlabeled
from reweigh.data.source import open_source
from reweigh.data.tables.decide import decide
from reweigh.data.tables.encoding import Encoding, fit_encoding
from reweigh.data.tables.numbers import far_cells
from reweigh.errors import DataError

DRAW = np.random.default_rng(0)
AGES = DRAW.integers(18, 90, 300).astype(float)
FAR = {
    "a typing mistake": (np.append(DRAW.normal(size=199), 1000.0), [(1000.0, 1)]),
    "a sentinel": (np.append(AGES, [-9999.0] * 12), [(-9999.0, 12)]),
    "two sentinels": (np.append(AGES, [99999.0] * 5 + [-1.0] * 20), [(-1.0, 20), (99999.0, 5)]),
    "-1 among ages": (np.append(AGES, [-1.0] * 12), [(-1.0, 12)]),
    "with gaps": (np.append(AGES, [np.nan, 1e30]), [(1e30, 1)]),
    "at the end of float64": (np.append(AGES, [1.7e308, -1.7e308]), [(-1.7e308, 1), (1.7e308, 1)]),
}
USUAL = {
    "a normal column": DRAW.normal(size=5000),
    "a long tail": np.exp(DRAW.normal(size=5000)),
    "mostly zeros": np.where(DRAW.random(1000) < 0.9, 0, DRAW.integers(1, 50, 1000)),
    "a column with -1": DRAW.integers(-3, 20, 300),
    "-1, 0 and 1": DRAW.integers(-1, 2, 300),
    "one value but one": np.append(np.zeros(199), 1000),
    "a short column": np.array([1.0, 2.0, 1e9]),
    "constant": np.ones(100),
    "gaps alone": np.full(100, np.nan),
}


@pytest.mark.parametrize("case", FAR)
def test_far_cells_are_found(case):
    numbers, expected = FAR[case]
    assert far_cells(numbers) == expected


@pytest.mark.parametrize("case", USUAL)
def test_usual_columns_have_none(case):
    assert far_cells(USUAL[case].astype(float)) == []


def test_the_scale_is_that_of_the_values_inside_the_fence():
    """Oracle: clip by hand at five interquartile ranges; without values beyond, plain mean and standard deviation."""
    usual = DRAW.normal(3, 2, size=400)
    assert robust_scale(usual[:, None]) == pytest.approx((usual.mean(), usual.std()))
    absurd = np.append(usual, [1e30, -4000])
    low, middle, high = (np.sort(absurd)[int(np.ceil(share * 402)) - 1] for share in (0.25, 0.5, 0.75))
    inside = [min(max(value, middle - 5 * (high - low)), middle + 5 * (high - low)) for value in absurd]
    assert robust_scale(absurd[:, None]) == pytest.approx((np.mean(inside), np.std(inside)))


def people(tmp_path, name="t.csv"):
    ages = np.where(np.arange(300) % 25 == 0, -9999, AGES).astype(int)
    frame = pd.DataFrame({"age": ages, "x": DRAW.normal(size=300), "label": np.where(AGES > 50, "old", "young")})
    frame.to_csv(tmp_path / name, index=False)
    return tmp_path / name


def test_a_number_that_means_a_gap(tmp_path, caplog):
    path = people(tmp_path)
    with caplog.at_level(logging.WARNING):
        found = read(path)
    assert "column 'age': -9999 in 12 cells, far from all others" in caplog.text
    age = found.reading.encoding.readings[0]
    assert age.notes == "-9999 in 12 cells, far from all others; read as gaps? data.columns.age.gap=-9999"
    caplog.clear()
    found = read(path, columns={"age": {"gap": -9999}})
    assert "far from" not in caplog.text
    assert found.reading.missing == {"age": 12}
    encoding = Encoding.from_json(found.reading.encoding.to_json())
    assert encoding.columns[0].low >= 18
    new = read_unlabeled(path, found.shape, encoding=encoding, raw_bytes=False)
    assert new.inputs.tolist() == found.inputs.tolist()
    source = open_source(path, columns={"age": {"kind": "number", "gap": [-9999, 1e30]}})
    assert source.words()[-2:] == ["data.columns.age=number", "data.columns.age.gap=[-9999, 1e+30]"]


def test_a_gap_in_a_column_that_has_other_numbers_only(tmp_path):
    frame = pd.DataFrame({"n": AGES, "word": ["a", "b"] * 150})
    for values in (frame, frame.astype(str)):
        assert [read.gaps for read in decide(values, gaps={"n": [AGES[0]]})] == [int((AGES[0] == AGES).sum()), 0]
    with pytest.raises(DataError, match="column 'word' is read as category, but has a number for a gap"):
        decide(frame, gaps={"word": [1.0]})
    with pytest.raises(DataError, match="no column 'm'"):
        decide(frame, gaps={"m": [1.0]})
    with pytest.raises(DataError, match=r"data.columns.n: got .*; give a kind.*data.columns.n.gap=-9999"):
        read(people(tmp_path), columns={"n": {"gaps": 3}})


def test_one_absurd_cell_leaves_the_features_of_other_rows():
    usual = pd.DataFrame({"a": AGES, "day": pd.date_range("2024-01-01", periods=300)})
    absurd = usual.copy()
    absurd.loc[7, "a"] = 1e30
    absurd.loc[9, "day"] = pd.Timestamp("2262-01-01")
    plain, other = (fit_encoding(frame).apply(frame).numpy() for frame in (usual, absurd))
    rows = np.delete(np.arange(300), [7, 9])
    assert np.abs(plain - other)[rows].max() < 0.25
    assert np.abs(other).max() <= 5
