"""Rows of a table whose text waits for a network."""

from collections.abc import Sequence

import torch
from torch import Tensor

from reweigh.data.inputs import Inputs, Rows
from reweigh.data.tables.cells import Cells


class TextRows:
    """Features of the columns that are not text, with the text beside them.

    Args:
        rest: Shape (N, D), perhaps with D = 0; what indexing gives.
        texts: The cells of each text column.
    """

    def __init__(self, rest: Tensor, texts: Sequence[Cells]) -> None:
        self.rest = rest
        self.texts = texts

    def __len__(self) -> int:
        return len(self.rest)

    def __getitem__(self, index: Tensor, /) -> Tensor:
        return self.rest[index]

    @classmethod
    def behind(cls, inputs: Inputs) -> "tuple[TextRows, Tensor] | None":
        """The rows that inputs are a selection of, and their indices; None if they have no text."""
        index = torch.arange(len(inputs))
        while isinstance(inputs, Rows):
            inputs, index = inputs.inputs, inputs.index[index]
        return (inputs, index) if isinstance(inputs, cls) else None
