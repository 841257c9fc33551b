"""Formulas in cells are written as text on request, and reported otherwise."""

import logging
from pathlib import Path

import pytest

from reweigh.files.cells import as_text, is_formula, to_csv

ROWS = [("name", "value"), ("=cmd|'/c calc'!A0", "-0.5"), ("@SUM(1)", "+3"), ("cat", "-dog")]


@pytest.mark.parametrize("cell", ["=1", "+a", "-a", "@a", "\ta", "\ra", "-2+3", "=1+1", "-1+cmd|' /C calc'!A0"])
def test_formulas(cell):
    assert is_formula(cell)
    assert as_text(cell) == "'" + cell


@pytest.mark.parametrize(
    "cell", ["", "a=1", "-0.5", "+3", "-inf", "1e-9", "-", "--", "-3,5", "- 12 %", "-1.000 €", 3, None, -2.5]
)
def test_numbers_and_words_stay(cell):
    assert not is_formula(cell)
    assert as_text(cell) is cell


def test_on_request_they_are_text(caplog):
    assert to_csv(ROWS, Path("x.csv"), True).splitlines()[1:] == ["'=cmd|'/c calc'!A0,-0.5", "'@SUM(1),+3", "cat,'-dog"]
    assert caplog.text == ""


def test_otherwise_a_warning(caplog):
    with caplog.at_level(logging.WARNING):
        assert to_csv(ROWS, Path("x.csv")).splitlines()[1] == "=cmd|'/c calc'!A0,-0.5"
    assert "x.csv: 3 cells begin with =, +, - or @" in caplog.text
    assert "--spreadsheet-safe" in caplog.text
