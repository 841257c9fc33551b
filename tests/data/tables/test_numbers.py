"""Numbers as people write them, against what each cell means by hand, and against pandas where pandas reads them."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reweigh.data.tables.numbers import Notation, parts, votes


@pytest.mark.parametrize(
    ("cell", "decimal", "unit", "value"),
    [
        ("€ 26,623.09", ".", "€", 26623.09),
        ("26.623,09 €", ",", "€", 26623.09),
        ("167,5", ",", "", 167.5),
        ("1 234 567,8", ",", "", 1234567.8),
        ("1'234.5", ".", "", 1234.5),
        ("1,23,456", ".", "", 123456),
        ("(1,234.50)", ".", "", -1234.5),
        ("($12)", ".", "$", -12),
        ("$-5", ".", "$", -5),
        ("−5", ".", "", -5),
        ("12.5 %", ".", "%", 12.5),
        ("USD 12", ".", "USD", 12),
        ("70.9 kg", ".", "kg", 70.9),
        ("35.5°C", ".", "°C", 35.5),
        ("12k", ".", "", 12000),
        ("7", ".", "kg", 7),
        ("12.5", ",", "", 12.5),  # the other sign, which can only be meant so
        ("1.234", ",", "", 1234),
        ("1.234", ".", "", 1.234),
        ("-1.5e-3", ".", "", -0.0015),
        ("12.", ".", "", 12),
        (".5", ".", "", 0.5),
    ],
)
def test_a_cell_in_its_notation(cell, decimal, unit, value):
    assert Notation(decimal, unit).read([cell])[0] == pytest.approx(value)


@pytest.mark.parametrize(
    "cell",
    [
        "A12",
        "12-15",
        "1.2.3",
        "05.05.2024",
        "12:30",
        "3 miles",
        "(12",
        "--5",
        "5 6 7",
        "1,2,3",
        "",
        "x",
        "1e999x",
        "900 g",
    ],
)
def test_what_is_not_a_number(cell):
    assert math.isnan(Notation(".", "kg").read([cell])[0])


def test_the_decimal_sign_is_voted_for_by_cells_that_leave_no_doubt():
    assert votes(["1,234", "12.345", "7"]) == {}
    assert votes(["1,5", "1.234,5", "1.234.567", "0,125"]) == {",": 4}
    assert votes(["1.5", "1,234.5", "1,234,567", "0.125"]) == {".": 4}


@given(st.floats(allow_nan=False, allow_infinity=False, width=64))
def test_whatever_python_writes_is_read_back(value):
    for text in (repr(value), f"{value:.3f}", f"{value:+.4e}"):
        assert Notation().read([text])[0] == float(text)
    grouped = f"{value:,.2f}"
    if "e" not in grouped and len(grouped) < 200:
        assert Notation().read([grouped])[0] == pytest.approx(float(grouped.replace(",", "")))
        german = grouped.replace(",", "_").replace(".", ",").replace("_", ".")
        assert Notation(",").read([german])[0] == pytest.approx(float(grouped.replace(",", "")))


@given(st.text(max_size=30))
def test_any_text_is_a_number_or_not(text):
    assert parts(text) is None or not np.isnan(Notation().read(["5"])[0])
    Notation(".", "€").read([text])
    Notation(",").read([text])
