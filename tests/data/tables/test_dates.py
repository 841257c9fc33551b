from datetime import date

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reweigh.data.tables.cells import order_of, read_dates

DAY = (date(2024, 5, 6) - date(1970, 1, 1)).days


@pytest.mark.parametrize(
    "text",
    [
        *("2024-05-06", "06.05.2024", "6/5/2024", "6-5-24", "20240506", "2024/5/6", "6 May 2024", "May 6, 2024"),
        *("Mon, 6 May 2024", "6th of May 2024", "06-May-24", "2024-05-06T00:00:00Z", "6.5.2024 00:00", "May 6th, 2024"),
    ],
)
def test_usual_spellings_of_one_day(text):
    assert read_dates([text], "day")[0] == DAY


def test_times_months_and_nonsense():
    found = read_dates(["06.05.2024 14:30", "2024-05-06 2:30 PM", "18:00", "05/2024", "2024-05"], "day")
    np.testing.assert_allclose(found, [DAY + 14.5 / 24, DAY + 14.5 / 24, 0.75, DAY - 5, DAY - 5])
    assert np.isnan(read_dates(["may", "12", "31.02.2024", "13/13/2024", "1.2.3", "99-99-9999", ""], "day")).all()


@given(st.dates(min_value=date(1971, 1, 1), max_value=date(2090, 1, 1)))
def test_day_first_and_month_first(day):
    wanted = (day - date(1970, 1, 1)).days
    assert read_dates([f"{day:%d/%m/%Y}"], "day")[0] == wanted
    assert read_dates([f"{day:%m/%d/%Y}"], "month")[0] == wanted


def test_the_order_is_found_from_the_column():
    assert order_of(["01/02/2024", "31/12/2024"], [5, 1]) == ("day", True)
    assert order_of(["01/02/2024", "12/31/2024"], [5, 1]) == ("month", True)
    assert order_of(["01/02/2024", "03/04/2024"], [5, 1]) == ("day", False)
    assert order_of(["01.02.2024"], [1]) == ("day", True)
