"""The values of a table column as plain numbers or strings."""

from typing import TYPE_CHECKING

import numpy as np

from reweigh.data.checks import at_rows, plural
from reweigh.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

MISSING = "(missing)"


def as_numbers(values: "pd.Series") -> np.ndarray:
    """The values as floats, NaN where missing; dates as days since 1970.

    Raises:
        DataError: some are not numbers, or infinite; with their rows.
    """
    import pandas as pd
    from pandas.api import types

    if types.is_datetime64_any_dtype(values):
        times = pd.to_datetime(values, utc=True)
        return ((times - pd.Timestamp("1970-01-01", tz="UTC")) / pd.Timedelta(days=1)).to_numpy(dtype=float)
    numbers = pd.Series(pd.to_numeric(values, errors="coerce")).astype("float64").to_numpy()
    for one, many, wrong in (
        ("value is not a number", "values are not numbers", np.isnan(numbers) & values.notna().to_numpy()),
        ("value is infinite", "values are infinite", np.isinf(numbers)),
    ):
        rows = np.flatnonzero(wrong).tolist()
        if rows:
            raise DataError(
                f"column {values.name!r}: {plural(len(rows), one, many)}, "
                f"such as {str(values.iloc[rows[0]])!r}: {at_rows(rows)}; fix or clear these cells"
            )
    return numbers


def as_strings(values: "pd.Series", missing: str = MISSING) -> list[str]:
    """The values as strings, with ``missing`` for missing ones."""
    absent = values.isna().to_numpy()
    return [missing if gone else str(value) for value, gone in zip(values.tolist(), absent, strict=True)]
