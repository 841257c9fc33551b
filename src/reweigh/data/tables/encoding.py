"""How the columns of a table become features: decided and fitted once, stored as JSON, applied to later tables."""

import json
import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import torch
from scipy.sparse import csr_array, hstack, issparse
from torch import Tensor

from reweigh.data.dataset import listed, raise_all
from reweigh.data.inputs import SparseRows
from reweigh.data.tables.cells import as_numbers, cells_of
from reweigh.data.tables.columns import Categorical, Column, Numeric, fit_categorical, fit_date, fit_numeric
from reweigh.data.tables.decide import Kind, ReadAs, decide
from reweigh.data.tables.numbers import far_words
from reweigh.data.tables.text import Plain, TextRows, TfIdf, WordsAndVectors, fit_tf_idf, fit_words_and_vectors
from reweigh.errors import DataError
from reweigh.names import suggestion

if TYPE_CHECKING:
    import pandas as pd

log = logging.getLogger(__name__)
TextAs = Literal["tf-idf", "wordllama", "plain"]
"""How text columns are read: as features, or as they are, for a network."""
MAX_WORDS = 20_000  # of a text column, at most
MAX_CATEGORIES_KEPT = 256  # of a column, at most
MAX_DENSE_FEATURES = 1000  # features, at most; more are kept sparse,
MAX_NARROW_FEATURES = 8  # unless most come from columns with no more features than a date, which are rarely zero


@dataclass(frozen=True)
class Encoding:
    """The fitted columns of a table.

    Attributes:
        columns: Fitted columns in the order of the table; each gives one or more features.
        readings: How every column of the table is read, also of those that are left out.
    """

    columns: tuple[Column, ...]
    readings: tuple[ReadAs, ...] = ()
    version: Literal[2] = 2

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The name of each feature: the column, and the category or word if it stands for one."""
        return tuple(name for column in self.columns for name in column.feature_names)

    @property
    def words(self) -> int:
        """The number of features that stand for words of a text."""
        texts = [column for column in self.columns if isinstance(column, TfIdf | WordsAndVectors)]
        return sum(len(column.feature_names) for column in texts)

    @property
    def texts(self) -> tuple[str, ...]:
        """The columns whose text is kept as it is, for a network."""
        return tuple(column.name for column in self.columns if isinstance(column, Plain))

    def apply(self, frame: "pd.DataFrame", what: str = "table") -> Tensor | SparseRows | TextRows:
        """The features of a table with the same columns, shape (N, D) float32; sparse if there are many, as of text.

        Text that is kept as it is comes along with them.

        Columns that the encoding does not know are ignored.

        Raises:
            DataError: With every column that is missing or has only values of another kind.
        """
        given = dict(frame.items())
        features, mistakes = [], []
        for column in self.columns:
            if column.name not in given:
                mistakes.append(f"no column {column.name!r}.{suggestion(column.name, map(str, given))}")
                continue
            try:
                features.append(column.apply(given[column.name]).astype(np.float32))
            except DataError as error:
                mistakes.append(str(error))
        raise_all(mistakes, what)
        width = sum(part.shape[1] for part in features)
        narrow = sum(part.shape[1] for part in features if part.shape[1] <= MAX_NARROW_FEATURES)
        if self.texts or width <= MAX_DENSE_FEATURES or 2 * narrow >= width:
            parts = [torch.from_numpy(part.toarray() if issparse(part) else part) for part in features]
            rows = torch.cat(parts, dim=1)
            return TextRows(rows, [cells_of(given[name]) for name in self.texts]) if self.texts else rows
        return SparseRows(csr_array(hstack([csr_array(part) for part in features])))

    def missing(self, frame: "pd.DataFrame") -> dict[str, int]:
        """Number of values that are missing or cannot be read, by column, for columns that have any."""
        given = dict(frame.items())
        counts = {column.name: int(np.isnan(column.known(given[column.name])).sum()) for column in self.columns}
        return {name: count for name, count in counts.items() if count}

    def strange(self, frame: "pd.DataFrame") -> list[str]:
        """What a later table has that the fitted one did not: new categories, far values, cells of another kind."""
        found, given = [], dict(frame.items())
        for column in self.columns:
            values = given[column.name]
            if column.kind in ("number", "date"):
                unread = np.isnan(column.known(values)) & (cells_of(values).codes >= 0)
                if unread.any():
                    example = str(values.iloc[int(unread.argmax())])
                    found.append(f"column {column.name!r}: {unread.sum()} not a {column.kind}, such as {example!r}")
            if isinstance(column, Numeric | Categorical) and (words := column.strange(values)):
                found.append(f"column {column.name!r}: {words}")
        return found

    def to_json(self) -> str:
        """Everything that ``from_json`` needs, readable and without pickle."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> "Encoding":
        """The encoding that ``to_json`` wrote."""
        from pydantic import TypeAdapter, ValidationError

        try:
            return TypeAdapter(cls).validate_json(text)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"])) or "text"
            raise DataError(
                f"encoding: not one that reweigh wrote ({where}: {first['msg']}); fit and store it again"
            ) from None


def numbers_parsed(frame: "pd.DataFrame", readings: Sequence[ReadAs]) -> "pd.DataFrame":
    """The table with its columns of numbers as floats, so that they are parsed once; others as they are."""
    given, parsed = dict(frame.items()), {}
    for read in readings:
        if read.kind == "number":
            with suppress(DataError):  # reported with the other mistakes when the column is fitted
                parsed[read.name] = as_numbers(given[read.name], read.notation)
    return frame.assign(**{name: numbers for name, numbers in parsed.items() if not np.isnan(numbers).all()})


def fit_encoding(
    frame: "pd.DataFrame",
    *,
    kinds: Mapping[str, Kind] | None = None,
    gaps: Mapping[str, Sequence[float]] | None = None,
    readings: Sequence[ReadAs] | None = None,
    text: TextAs = "tf-idf",
    what: str = "table",
) -> Encoding:
    """Decide how to read each column (``decide``), and fit its features.

    Numbers and dates are standardized and clipped, so that absurd ones do no harm; these are logged. Strings with few
    distinct values are categories; other strings are text. Columns that say nothing are left out, and logged: those
    without any value, constant ones, ids, copies of other columns.

    Args:
        frame: The features of the training samples, without the label.
        kinds: What some columns are, whatever they look like; "drop" leaves a column out.
        gaps: Numbers of some columns that mean that there is no value.
        readings: How to read the columns, as decided before from more rows; overrides ``kinds`` and ``gaps``.

    Raises:
        DataError: No usable column, an unknown column in ``kinds``, infinite numbers, or cells that hold lists.
    """
    if readings is None:
        readings = decide(frame, kinds, what, gaps)
    if text == "wordllama" and not any(read.kind == "text" for read in readings):
        raise DataError(f"{what}: features 'wordllama': no column is text; leave features out")
    given = dict(frame.items())
    mistakes, columns = [], []
    for read in readings:
        if read.kind == "drop":
            continue
        try:
            columns.append(_fitted(given[read.name], read, text))
        except DataError as error:
            mistakes.append(str(error))
    raise_all(mistakes, what)
    dropped = [f"{read.name!r} ({read.odd})" for read in readings if read.kind == "drop"]
    if dropped:
        log.warning("%s: columns left out: %s", what, listed(dropped))
    for read in [read for read in readings if read.far]:
        words = far_words(read.far)
        log.warning("%s: column %r: %s; clear them if they mean that there is no value", what, read.name, words)
    if not columns:
        why = f": {listed(dropped)}; data.columns.NAME=number keeps one" if dropped else ""
        raise DataError(f"{what}: no column to learn from; it needs one or more besides the label{why}")
    return Encoding(tuple(columns), tuple(readings))


def _fitted(values: "pd.Series", read: ReadAs, text: TextAs) -> Column:
    if read.kind == "number":
        return fit_numeric(values, read.notation)
    if read.kind == "date":
        return fit_date(values, read.order)
    if read.kind == "category":
        return fit_categorical(values, MAX_CATEGORIES_KEPT)
    if text == "plain":
        return Plain(str(values.name), bool((cells_of(values).codes < 0).any()))
    return (fit_words_and_vectors if text == "wordllama" else fit_tf_idf)(values, MAX_WORDS)
