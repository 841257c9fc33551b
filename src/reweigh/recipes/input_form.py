"""How raw inputs became what a model was trained on, stored with the run and used again on further data."""

import json
from dataclasses import asdict, dataclass
from typing import Literal

import torch

from reweigh.data import Dataset, Inputs
from reweigh.data.normalize import Standardize, unchanged
from reweigh.data.tables.encoding import Encoding
from reweigh.errors import DataError


@dataclass(frozen=True)
class InputForm:
    """The form of the training inputs.

    Attributes:
        shape: of one sample.
        bytes: raw values are bytes, and divided by 255 first; otherwise numbers as they are.
        mean: taken off then, by channel or feature; empty if nothing is.
        std: what the rest is divided by.
        encoding: of the columns of a table.
        version: of the stored form.
    """

    shape: tuple[int, ...]
    bytes: bool
    mean: tuple[float, ...] = ()
    std: tuple[float, ...] = ()
    encoding: Encoding | None = None
    version: Literal[1] = 1

    @classmethod
    def of(cls, dataset: Dataset) -> "InputForm":
        """The form of a dataset that a recipe has read."""
        normalize = dataset.normalize
        assert isinstance(normalize, Standardize) or normalize is unchanged, normalize
        scale = (normalize.mean, normalize.std) if isinstance(normalize, Standardize) else ()
        mean_and_std = [tuple(values.tolist()) for values in scale]
        return cls(dataset.shape, dataset.dtype == torch.uint8, *mean_and_std, encoding=dataset.reading.encoding)

    def dataset(self, inputs: Inputs, class_names: tuple[str, ...]) -> Dataset:
        """Raw inputs of this form as samples to predict; their labels mean nothing."""
        normalize = Standardize(self.mean, self.std) if self.mean else unchanged
        return Dataset(inputs, torch.zeros(len(inputs), dtype=torch.int64), class_names, normalize=normalize)

    def to_json(self) -> str:
        """Everything that ``from_json`` needs, readable and without pickle."""
        return json.dumps(asdict(self)) + "\n"

    @classmethod
    def from_json(cls, text: str, what: str) -> "InputForm":
        """The form that ``to_json`` wrote.

        Args:
            what: how the message calls the text.

        Raises:
            DataError: it is something else.
        """
        from pydantic import TypeAdapter, ValidationError

        try:
            return TypeAdapter(cls).validate_json(text)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"])) or "text"
            raise DataError(f"{what}: not as this version of reweigh writes it ({where}: {first['msg']})") from None
