"""How the columns of a table become features: fitted once, stored as JSON, applied to later tables."""

import json
import logging
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor

from reweigh.data.checks import listed, raise_all
from reweigh.data.tables.columns import Column, fit_column, guess
from reweigh.errors import DataError
from reweigh.names import suggestion

if TYPE_CHECKING:
    import pandas as pd

log = logging.getLogger(__name__)
Kind = Literal["numeric", "categorical", "tf-idf", "hashing", "ignore"]


@dataclass(frozen=True)
class Encoding:
    """The fitted columns of a table.

    Attributes:
        columns: fitted columns in the order of the table; each gives one or more features.
        version: version of the stored form.
    """

    columns: tuple[Column, ...]
    version: Literal[1] = 1

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The name of each feature: the column, and the category or word if it stands for one."""
        return tuple(name for column in self.columns for name in column.feature_names)

    @property
    def string_columns(self) -> tuple[str, ...]:
        """The columns of categories and words, which stay strings even if another file has only numbers in them."""
        return tuple(column.name for column in self.columns if column.kind != "numeric")

    def apply(self, frame: "pd.DataFrame", what: str = "table") -> Tensor:
        """The features of a table with the same columns, shape (N, D) float32.

        Columns that the encoding does not know are ignored.

        Raises:
            DataError: with every column that is missing or has values of another kind.
        """
        given = dict(frame.items())
        features, mistakes = [], []
        for column in self.columns:
            if column.name not in given:
                mistakes.append(f"no column {column.name!r}.{suggestion(column.name, map(str, given))}")
                continue
            try:
                features.append(torch.from_numpy(column.apply(given[column.name])))
            except DataError as error:
                mistakes.append(str(error))
        raise_all(mistakes, what)
        return torch.cat(features, dim=1).float()

    def missing(self, frame: "pd.DataFrame") -> dict[str, int]:
        """Number of missing values by column, for columns that have any."""
        counts = {str(name): int(values.isna().to_numpy().sum()) for name, values in frame.items()}
        return {column.name: counts[column.name] for column in self.columns if counts[column.name]}

    def to_json(self) -> str:
        """Everything that ``from_json`` needs, readable and without pickle."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> "Encoding":
        """The encoding that ``to_json`` wrote.

        Raises:
            DataError: the text is not a stored encoding.
        """
        from pydantic import TypeAdapter, ValidationError

        try:
            return TypeAdapter(cls).validate_json(text)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"])) or "text"
            raise DataError(
                f"encoding: not one that reweigh wrote ({where}: {first['msg']}); fit and store it again"
            ) from None


def fit_encoding(
    frame: "pd.DataFrame",
    *,
    kinds: Mapping[str, Kind] | None = None,
    text: Literal["tf-idf", "hashing"] = "tf-idf",
    text_features: int = 256,
    max_categories: int = 50,
    what: str = "table",
) -> Encoding:
    """Look at each column and decide how to encode it.

    Numbers, dates and booleans are standardized; strings with few distinct values are categories; other strings are
    text. Columns without any value are left out, and so are ids and file names, which differ in every row; ``kinds``
    can keep the latter.

    Args:
        frame: the features of the training samples, without the label.
        kinds: kinds of some columns, which override the rule; "ignore" leaves a column out.
        text: encoding of text columns.
        text_features: number of features of a text column.
        max_categories: largest number of distinct strings in a column of categories.
        what: name of the table in messages.

    Raises:
        DataError: no usable column, an unknown column in ``kinds``, or infinite numbers.
    """
    kinds = kinds or {}
    unknown = [name for name in kinds if name not in frame]
    if unknown:
        raise DataError(
            f"{what}: kinds: no column {listed(map(repr, unknown))}; the table has: {listed(frame.columns)}"
        )
    mistakes, columns, empty, ids = [], [], [], []
    for name, values in frame.items():
        if kinds.get(str(name)) == "ignore":
            continue
        if values.isna().to_numpy().all():
            empty.append(name)
            continue
        kind = kinds.get(str(name)) or guess(values, text, max_categories)
        if kind == "ignore":
            ids.append(name)
            continue
        try:
            columns.append(fit_column(values, kind, text_features))
        except DataError as error:
            mistakes.append(str(error))
    raise_all(mistakes, what)
    if empty:
        log.warning("%s: columns without any value are left out: %s", what, listed(empty))
    if ids:
        log.warning("%s: columns that only name the rows (a new word in each) are left out: %s", what, listed(ids))
    if not columns:
        raise DataError(f"{what}: no column to learn from; it needs one or more besides the label")
    return Encoding(tuple(columns))
