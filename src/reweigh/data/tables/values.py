"""The values of a table's column as plain numbers or texts."""

from typing import TYPE_CHECKING

import numpy as np

from reweigh.data.checks import listed
from reweigh.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

MISSING = "(missing)"


def as_numbers(values: "pd.Series") -> np.ndarray:
    """The values as floats, NaN where missing; dates as days since 1970.

    Raises:
        DataError: some are texts, or infinite; with their rows.
    """
    import pandas as pd
    from pandas.api import types

    if types.is_datetime64_any_dtype(values):
        times = pd.to_datetime(values, utc=True)
        return ((times - pd.Timestamp("1970-01-01", tz="UTC")) / pd.Timedelta(days=1)).to_numpy(dtype=float)
    numbers = pd.Series(pd.to_numeric(values, errors="coerce")).astype("float64").to_numpy()
    for trouble, wrong in (
        ("no numbers", np.isnan(numbers) & values.notna().to_numpy()),
        ("infinite", np.isinf(numbers)),
    ):
        rows = np.flatnonzero(wrong)
        if len(rows):
            raise DataError(
                f"column {values.name!r}: {len(rows)} values are {trouble}, such as {str(values.iloc[rows[0]])!r}: "
                f"rows {listed(rows)}; mend them or leave them empty"
            )
    return numbers


def as_texts(values: "pd.Series", missing: str = MISSING) -> list[str]:
    """The values as texts, with a word of its own for a missing one."""
    absent = values.isna().to_numpy()
    return [missing if gone else str(value) for value, gone in zip(values.tolist(), absent, strict=True)]
