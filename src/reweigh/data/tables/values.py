"""The values of a table column as numbers or as days, whether pandas has read them already or they are strings."""

from typing import TYPE_CHECKING

import numpy as np

from reweigh.data.checks import at_rows, plural
from reweigh.data.tables.cells import cells_of
from reweigh.data.tables.dates import Order, read_dates
from reweigh.data.tables.numbers import Notation
from reweigh.errors import DataError

if TYPE_CHECKING:
    import pandas as pd


def as_numbers(values: "pd.Series", notation: Notation) -> np.ndarray:
    """The values as floats; NaN where they are missing, or not numbers."""
    import pandas as pd
    from pandas.api import types

    if types.is_numeric_dtype(values):
        numbers = pd.Series(values).astype("float64").to_numpy()
    elif types.is_timedelta64_dtype(values):
        numbers = (values / pd.Timedelta(days=1)).to_numpy(dtype=float)
    elif types.is_datetime64_any_dtype(values):
        numbers = as_days(values, "day")
    else:
        numbers = np.full(len(values), np.nan)
        if notation.decimal == ".":  # quick, and most are
            try:
                found = pd.to_numeric(values, errors="coerce")
            except OverflowError:  # an integer beyond all floats, which JSON may hold
                found = pd.to_numeric(values.astype(str), errors="coerce")
            numbers = pd.Series(found).astype("float64").to_numpy(copy=True)
        if np.isnan(numbers).any():
            rest = np.flatnonzero(np.isnan(numbers) & values.notna().to_numpy())
            cells = cells_of(values.iloc[rest])
            booleans = _booleans(cells.distinct)
            numbers[rest] = cells.spread(notation.read(cells.distinct) if booleans is None else booleans, np.nan)
    if len(rows := np.flatnonzero(np.isinf(numbers))):
        raise DataError(
            f"column {values.name!r}: {plural(len(rows), 'value is infinite', 'values are infinite')}, "
            f"such as {str(values.iloc[rows[0]])!r}: {at_rows(rows.tolist())}; fix or clear these cells"
        )
    return numbers


def _booleans(cells: list[str]) -> np.ndarray | None:
    """Ones and zeros, if all cells are true or false: another file format may have had booleans there."""
    words = [cell.casefold() for cell in cells]
    return np.array([float(word == "true") for word in words]) if {*words} <= {"true", "false"} else None


def as_days(values: "pd.Series", order: Order) -> np.ndarray:
    """Dates as days since 1970, with the time of day as a fraction; NaN where they are missing, or not dates."""
    import pandas as pd
    from pandas.api import types

    if types.is_datetime64_any_dtype(values):
        times = pd.to_datetime(values, utc=True)
        return ((times - pd.Timestamp("1970-01-01", tz="UTC")) / pd.Timedelta(days=1)).to_numpy(dtype=float)
    cells = cells_of(values)
    return cells.spread(read_dates(cells.distinct, order), np.nan)
