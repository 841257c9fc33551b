"""How columns are read, decided by the whole column."""

import io

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reweigh.data.tables import decide as decision
from reweigh.data.tables.cells import as_numbers
from reweigh.data.tables.decide import counts_rows, decide
from reweigh.data.tables.encoding import Encoding, fit_encoding
from reweigh.data.tables.numbers import USUAL
from reweigh.errors import DataError

N = 200
DRAW = np.random.default_rng(0)
AMOUNT = np.exp(DRAW.normal(8, 1, N)).round(2)


def german(value: float) -> str:
    return f"{value:,.2f}".replace(",", "_").replace(".", ",").replace("_", ".")


def messy() -> pd.DataFrame:
    days = pd.date_range("2024-01-25", periods=N)
    return pd.DataFrame(
        {
            "id": [str(1000 + row) for row in range(N)],
            "amount": [f"{german(value)} €" for value in AMOUNT],
            "rate": ["?" if row % 40 == 0 else f"{row % 37},5 %" for row in range(N)],
            "since": [f"{day:%d.%m.%Y}" for day in days],
            "us": [f"{day:%m/%d/%Y}" for day in days],
            "member": [["yes", "Y", "no", "FALSE"][row % 4] for row in range(N)],
            "city": [["Ulm", "ULM ", "Bonn", "bonn"][row % 4] for row in range(N)],
            "zip": [f"{(row * 7) % 30:05}" for row in range(N)],
            "code": [f"K{row % 90}" for row in range(N)],
            "note": [f"a note about {row} and more" for row in range(N)],
            "same": "x",
            "none": ["", "n/a"] * (N // 2),
            "again": [f"{german(value)} €" for value in AMOUNT],
            "sign": ["+", "-"] * (N // 2),
        }
    ).astype(str)


def test_each_column_as_a_person_would_read_it():
    found = {read.name: read for read in decide(messy())}
    kinds = {name: read.kind for name, read in found.items()}
    assert kinds == {
        **dict.fromkeys(["id", "same", "none", "again"], "drop"),
        **dict.fromkeys(["amount", "rate"], "number"),
        **dict.fromkeys(["since", "us"], "date"),
        **dict.fromkeys(["member", "city", "zip", "code", "sign"], "category"),
        "note": "text",
    } | {"us": "drop"}
    assert (found["id"].odd, found["same"].odd) == ("counts the rows", "always 'x'")
    assert (found["none"].odd, found["again"].odd) == ("no value in any row", "a copy of 'amount'")
    assert found["us"].odd == "a copy of 'since'"
    assert found["amount"].odd == "decimal comma; in €"
    assert (found["rate"].odd, found["rate"].gaps) == ("decimal comma; in %", 5)
    assert found["member"].odd == "yes and no"
    assert found["city"].odd == "2 spellings joined, such as 'Ulm' and 'ULM'"


def test_the_values_are_those_of_the_clean_table():
    encoding = fit_encoding(messy())
    features = dict(zip(encoding.feature_names, encoding.apply(messy()).T.numpy(), strict=True))
    np.testing.assert_allclose(features["amount"], (AMOUNT - AMOUNT.mean()) / AMOUNT.std(), rtol=1e-5, atol=1e-6)
    assert features["rate (missing)"].sum() == 5
    assert (features["member=yes"] if "member=yes" in features else features["member=Y"]).tolist() == [1, 1, 0, 0] * 50
    assert features["city=Ulm"].tolist() == [1, 1, 0, 0] * 50
    assert features["sign=+"].tolist() == [1, 0] * 100
    days = np.arange(N)
    np.testing.assert_allclose(features["since day"], (days - days.mean()) / days.std(), rtol=1e-4, atol=1e-5)


def test_what_does_not_fit_becomes_a_gap_and_is_counted():
    values = [str(row / 7) for row in range(N)]
    values[3], values[9] = "broken", "?"
    read = decide(pd.DataFrame({"x": values}))[0]
    assert (read.kind, read.gaps, read.odd) == ("number", 2, "1 cell is not a number, such as 'broken'")
    values[:80] = ["broken"] * 80
    assert decide(pd.DataFrame({"x": values}))[0].kind != "number"


def test_an_ambiguous_column_takes_the_decimal_sign_of_the_table():
    frame = pd.DataFrame({"a": ["1,5", "2,5", "3,25"] * 9, "b": ["1.234", "2.345", "9.999"] * 9})
    assert [read.notation.decimal for read in decide(frame)] == [",", ","]
    assert [read.notation.decimal for read in decide(frame[["b"]])] == ["."]


def test_ids_of_numbers():
    draw = np.random.default_rng(1)
    assert counts_rows(draw.permutation(100).astype(float), "x") == "counts the rows"
    assert counts_rows(np.cumsum(draw.integers(1, 99, 100)).astype(float), "x") == "counts the rows"
    ids = draw.choice(2000, 300, replace=False) + 5000.0  # nobody measures 300 values in 2,000 without a repeat
    assert counts_rows(ids, "x") == "an id: whole numbers that never repeat"
    spread = draw.choice(10**9, 100, replace=False).astype(float)
    assert counts_rows(spread, "salary") == ""
    assert counts_rows(spread, "customer_id") == "an id: whole numbers that never repeat"
    assert counts_rows(draw.normal(size=100), "id") == ""
    assert counts_rows(np.arange(10.0), "id") == ""


def test_a_later_table_is_read_the_same_way_and_strange_values_are_named():
    encoding = Encoding.from_json(fit_encoding(messy()).to_json())
    one = messy().iloc[1:2].reset_index(drop=True)
    np.testing.assert_array_equal(encoding.apply(one)[0], encoding.apply(messy())[1])
    assert encoding.strange(one) == []
    later = one.assign(amount="9.999.999.999,00 €", rate="high", city="Kiel", member="true")
    with pytest.raises(DataError, match="column 'rate': its only value is not a number, such as 'high'"):
        encoding.apply(later)
    two = pd.concat([one, later], ignore_index=True)
    assert encoding.apply(two).isfinite().all()
    words = "\n".join(encoding.strange(two))
    assert "column 'amount': 1 value far outside" in words
    assert "column 'rate': 1 not a number, such as 'high'" in words
    assert "column 'city': 1 category was rare or absent in training, such as 'Kiel'" in words
    assert "member" not in words


@pytest.mark.parametrize("kind", [bool, "boolean", object])
def test_booleans_of_every_format_are_two_categories(kind):
    table = pd.DataFrame({"member": np.array([True, False] * 30, dtype=object), "size": np.arange(60) % 7})
    typed, written = table.astype({"member": kind}), table.astype(str)
    assert [each.kind for each in decide(typed)] == [each.kind for each in decide(written)] == ["category", "number"]
    encoding, as_text = fit_encoding(typed), fit_encoding(written)
    assert encoding == as_text
    assert encoding.apply(typed).equal(as_text.apply(written))
    assert encoding.apply(table.head(2).assign(member=["false", "True"]))[:, :2].tolist() == [[1, 0], [0, 1]]


def test_names_in_another_case_are_suggested():
    table = pd.DataFrame({"size": np.arange(60) % 7, "width": np.arange(60) % 5})
    with pytest.raises(DataError, match=r"no column 'size'. Did you mean 'SIZE'?"):
        fit_encoding(table).apply(table.rename(columns=str.upper))


def test_cells_that_hold_lists_are_refused_by_name():
    with pytest.raises(DataError, match=r"column 'v': cells hold lists, such as \[1, 2\]; .*--drop"):
        decide(pd.DataFrame({"v": [[1, 2], [3, 4]], "x": [1, 2]}))
    assert decide(pd.DataFrame({"v": [[1, 2], [3, 4]], "x": [1, 2]}), {"v": "drop"})[0].kind == "drop"


@settings(max_examples=100, deadline=None)
@given(
    st.one_of(
        st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=40),
        st.lists(st.integers(-(10**12), 10**12), min_size=2, max_size=40),
        st.lists(st.one_of(st.none(), st.floats(-1e6, 1e6)), min_size=2, max_size=40),
    )
)
def test_numbers_that_pandas_reads_are_read_alike(values):
    """No column that pandas reads right is read otherwise without a word."""
    text = pd.DataFrame({"x": values, "y": 1}).to_csv(index=False)
    wanted = pd.read_csv(io.StringIO(text))["x"]
    strings = pd.read_csv(io.StringIO(text), dtype=str, na_filter=False)[["x"]]
    read = decide(strings)[0]
    if read.kind == "drop":
        assert read.odd.startswith(("always", "no value", "counts the rows", "an id"))
        return
    assert (
        read.kind == "number"
        or wanted.map(lambda value: str(int(value)) if value == value else "").str.fullmatch(r"(19|20)\d{6}|").all()
    )
    if read.kind == "number":
        np.testing.assert_allclose(as_numbers(strings["x"], read.notation), wanted.astype(float), rtol=1e-12)


def test_an_integer_beyond_all_floats():
    column = pd.Series([1, "2", 10**400], dtype=object, name="n")
    with pytest.raises(DataError, match=r"column 'n': 1 value is infinite"):
        as_numbers(column, USUAL)


@pytest.mark.parametrize(
    ("cells", "kind", "odd"),
    [
        ([*AMOUNT[:170], *["on request"] * 30], "number", "mostly numbers: 30 cells are not, such as 'on request'"),
        ([*AMOUNT[:140], *["sold", "on request", "-- ?"] * 20], "number", "mostly numbers: 60 cells are not"),
        ([*AMOUNT[:120], *["on request"] * 80], "text", ""),
        (
            [*AMOUNT[:160], *(f"please call agent {row}" for row in range(40))],
            "text",
            "mostly numbers: 40 cells are not, such as 'please call agent 0'; data.columns.price=number reads",
        ),
        ([str(1 + row % 5) for row in range(170)] + ["no answer"] * 30, "category", ""),
    ],
)
def test_columns_that_are_mostly_numbers(cells, kind, odd):
    read = decide(pd.DataFrame({"price": map(str, cells)}))[0]
    assert read.kind == kind
    assert read.odd.startswith(odd)


PLAIN_COLUMNS = {
    "floats": [repr(value) for value in DRAW.normal(size=60)],
    "powers": [f"{value:.3e}" for value in DRAW.normal(size=60)],
    "signs and spaces": [f" {value:+.2f} " for value in DRAW.normal(size=60)],
    "whole": [str(value) for value in DRAW.integers(0, 9, 60)],
    "whole as fractions": [f"{value}.0" for value in DRAW.permutation(60)],
    "id": [str(value) for value in DRAW.permutation(60)],
    "number": [str(value) for value in DRAW.permutation(60) * 1_000_003],
    "codes": [f"{value:03}" for value in DRAW.integers(0, 200, 60)],
    "zeros": ["0", "00", "0.0", "-0"] * 15,
    "days": [f"2024{month:02}{day:02}" for month in range(1, 13) for day in range(1, 6)],
    "nearly days": ["20240131"] * 59 + ["7"],
    "constant": ["5"] * 60,
    "spaced constant": ["5", " 5"] * 30,
    "two spellings": ["1", "1.0"] * 30,
    "yes and no": ["0", "1"] * 30,
    "huge": ["1e300"] * 59 + ["-1e308"],
    "gap": ["?"] + ["1.5"] * 59,
    "words": ["1.5"] * 40 + ["many"] * 20,
    "thousands?": [f"{value}.{value}00" for value in range(100, 160)],
}


@pytest.mark.parametrize("comma", [False, True], ids=["dots", "beside decimal commas"])
@pytest.mark.parametrize("kind", [None, "number", "text", "category", "drop"])
def test_plain_numbers_are_read_quickly_as_they_are_read_slowly(monkeypatch, comma, kind):
    frame = pd.DataFrame(PLAIN_COLUMNS)
    if comma:
        frame["German"] = [f"{value},5" for value in range(60)]
    kinds = {} if kind is None else dict.fromkeys(frame.columns, kind)
    quick = decide(frame, kinds)
    monkeypatch.setattr(decision, "_plain_numbers", lambda *_: None)
    assert quick == decide(frame, kinds)
