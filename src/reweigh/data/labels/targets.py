"""Label columns that do not hold classes: quantities, dates, ids and free text."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from reweigh.data.tables.cells import spelling
from reweigh.data.tables.dates import order_of, read_dates
from reweigh.data.tables.numbers import notation_of
from reweigh.errors import DataError

MANY = 20  # rows, and classes that nobody would call quantities
OFTEN = 5  # samples of a class on average; with fewer, they are not classes
SHARE = 0.9
OTHER = "name another column as the label"


def check_target(values: Sequence[Any], label: str, what: str) -> None:
    """Refuse labels that cannot be classes.

    Args:
        values: One per row; None where it is missing.
        label: Name of the column.
        what: Name of the table in messages.
    """
    given = [str(value) for value in values if value is not None]
    distinct = sorted({*given})
    rows, count = len(given), len(distinct)
    if rows < MANY or count <= min(MANY, rows // 2):
        return
    found = f"{what}: column {label!r} has {count:,} different values in {rows:,} rows, such as {_some(distinct)}: "
    numbers = notation_of(distinct).read(distinct)
    numbers = numbers[~np.isnan(numbers)]
    if len(numbers) >= SHARE * count:
        if (numbers != np.floor(numbers)).any():
            raise DataError(f"{found}a quantity, not classes; divide its range into classes (pandas.cut), or {OTHER}")
        span = numbers.max() - numbers.min() + 1
        if count > 0.5 * rows:
            raise DataError(f"{found}ids or a quantity, not classes; {OTHER}")
        if span > 2 * count and rows / count < OFTEN:
            raise DataError(f"{found}a quantity, not classes; divide its range into classes (pandas.cut), or {OTHER}")
        return
    order, _ = order_of(distinct, [1] * count)
    if (~np.isnan(read_dates(distinct, order))).mean() >= SHARE:
        raise DataError(f"{found}dates, not classes; {OTHER}")
    if len({*map(spelling, distinct)}) > 0.5 * rows:
        raise DataError(f"{found}names or free text, not classes; {OTHER}")


def _some(distinct: list[str]) -> str:
    shown = [repr(text if len(text) <= 30 else text[:29] + "…") for text in distinct[:: max(1, len(distinct) // 3)][:3]]
    return ", ".join(shown)
