"""How raw inputs become inputs of a model: determined in training, stored with the model, used on all later data."""

import json
from dataclasses import asdict, dataclass, replace
from math import prod
from typing import Literal

import torch

from reweigh.data import Dataset, Inputs
from reweigh.data.inputs import Standardize, as_float
from reweigh.data.tables.encoding import Encoding
from reweigh.errors import DataError
from reweigh.fit.front import Front
from reweigh.training import Observer

MAX_NUMBERS_PER_SAMPLE = 2**31


@dataclass(frozen=True)
class InputForm:
    """The form of the training inputs.

    Attributes:
        bytes: Whether raw values are bytes, divided by 255 first; otherwise they are numbers as they are.
        mean: Subtracted then, by channel or feature; empty if nothing is.
        limit: Largest absolute value of the result; None if it is not clipped.
        width: Number of features of the frozen network in front of the model, to which mean and std then belong; None
            if the model takes the samples themselves.
    """

    shape: tuple[int, ...]
    bytes: bool
    mean: tuple[float, ...] = ()
    std: tuple[float, ...] = ()
    limit: float | None = None
    encoding: Encoding | None = None
    width: int | None = None
    version: Literal[1] = 1

    @property
    def model_shape(self) -> tuple[int, ...]:
        return self.shape if self.width is None else (self.width,)

    @classmethod
    def of(cls, dataset: Dataset, raw: Dataset | None = None) -> "InputForm":
        """The form of a dataset.

        Args:
            raw: The samples that it holds the features of, if it does.
        """
        if raw is not None:
            behind = cls.of(dataset)
            return replace(behind, shape=raw.shape, bytes=raw.dtype == torch.uint8, width=behind.shape[0])
        normalize = dataset.normalize
        assert isinstance(normalize, Standardize) or normalize is as_float, normalize
        form = cls(dataset.shape, dataset.dtype == torch.uint8, encoding=dataset.reading.encoding)
        if not isinstance(normalize, Standardize):
            return form
        mean, std = tuple(normalize.mean.tolist()), tuple(normalize.std.tolist())
        return replace(form, mean=mean, std=std, limit=normalize.limit)

    def dataset(
        self,
        inputs: Inputs,
        class_names: tuple[str, ...],
        front: Front | None = None,
        device: torch.device | str = "cpu",
        observer: Observer | None = None,
    ) -> Dataset:
        """Raw inputs of this form as samples to predict; their labels mean nothing.

        Bytes and the same numbers as floats give the same samples.
        """
        unknown = torch.zeros(len(inputs), dtype=torch.int64)
        if self.width is not None:
            assert front is not None
            raw = Dataset(inputs, unknown, class_names)
            return front.through(raw, Standardize(self.mean, self.std), device, observer)
        normalize = as_float
        if self.mean:
            factor = {(True, False): 255.0, (False, True): 1 / 255}.get((self.bytes, _are_bytes(inputs)), 1.0)
            normalize = Standardize(torch.tensor(self.mean) * factor, torch.tensor(self.std) * factor, self.limit)
        return Dataset(inputs, unknown, class_names, normalize=normalize)

    def to_json(self) -> str:
        """Everything that ``from_json`` needs, readable and without pickle."""
        return json.dumps(asdict(self)) + "\n"

    @classmethod
    def from_json(cls, text: str, what: str) -> "InputForm":
        from pydantic import TypeAdapter, ValidationError

        try:
            found = TypeAdapter(cls).validate_json(text)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"])) or "text"
            raise DataError(f"{what}: not as this version of reweigh writes it ({where}: {first['msg']})") from None
        for name, sizes in {"shape": found.shape, "width": (found.width or 1,)}.items():
            if min(sizes, default=1) < 0 or prod(sizes) > MAX_NUMBERS_PER_SAMPLE:
                shown = " x ".join(f"{size:.4g}" if size < 1e300 else "inf" for size in sizes[:4])
                raise DataError(f"{what}: {name} is {shown}, which is not the size of a sample; the file is damaged")
        return found


def _are_bytes(inputs: Inputs) -> bool:
    return inputs[torch.empty(0, dtype=torch.int64)].dtype == torch.uint8
