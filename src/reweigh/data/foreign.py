"""Inputs replaced by those of another dataset: the data side of open-set noise."""

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from reweigh.data.checks import raise_all
from reweigh.data.dataset import Dataset, Inputs


class Patched:
    """Inputs outside memory of which some come from elsewhere."""

    def __init__(self, inputs: Inputs, foreign: Inputs, source: Tensor) -> None:
        """
        Args:
            source: shape (N,), the place in ``foreign`` of each sample, -1 for its own input.
        """
        self.inputs, self.foreign, self.source = inputs, foreign, source

    def __len__(self) -> int:
        return len(self.source)

    def __getitem__(self, index: Tensor, /) -> Tensor:
        source = self.source[index]
        batch = self.inputs[index]  # fetched by index, so a copy
        batch[source >= 0] = self.foreign[source[source >= 0]].to(batch.dtype)
        return batch


def replace_inputs(dataset: Dataset, replaced: Tensor, foreign: Inputs, seed: int) -> Dataset:
    """Put a foreign input under the label of each ``replaced`` sample, none twice while there are enough.

    Args:
        replaced: shape (N,) bool, as ``bias.open_set`` chooses them.
        foreign: inputs of the same shape and type (CIFAR-100 for CIFAR-10).

    Raises:
        DataError: shapes or types differ, or the mask is of another length.
    """
    there = foreign[torch.empty(0, dtype=torch.int64)]
    own = dataset.inputs[torch.empty(0, dtype=torch.int64)]
    mistakes = []
    if replaced.shape != (len(dataset),) or replaced.dtype != torch.bool:
        mistakes.append(
            f"replaced: {tuple(replaced.shape)} of {replaced.dtype}; give one truth value a sample, ({len(dataset)},)"
        )
    if (there.shape, there.dtype) != (own.shape, own.dtype):
        mistakes.append(
            f"foreign inputs: {tuple(there.shape[1:])} of {there.dtype}, "
            f"the data have {tuple(own.shape[1:])} of {own.dtype}; resize or convert them first"
        )
    if len(foreign) == 0:
        mistakes.append("foreign inputs: there are none")
    raise_all(mistakes, "open set")
    places = replaced.nonzero().squeeze(1)
    order = np.random.default_rng(seed).permutation(len(foreign))
    source = torch.full((len(dataset),), -1, dtype=torch.int64)
    source[places] = torch.from_numpy(np.resize(order, len(places)))
    patched = Patched(dataset.inputs, foreign, source)
    if isinstance(dataset.inputs, Tensor):
        return replace(dataset, inputs=patched[torch.arange(len(dataset))])
    return replace(dataset, inputs=patched)
